package pods

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Variables that name each other twice double with each line.
func TestExpansionIsBounded(t *testing.T) {
	c := &v1.Container{Env: []v1.EnvVar{{Name: "A0", Value: strings.Repeat("x", 100)}}}
	for i := 1; i < 60; i++ {
		ref := fmt.Sprintf("$(A%d)", i-1)
		c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprintf("A%d", i), Value: ref + ref})
	}
	env := Env(nil, c)
	total := 0
	for _, v := range env.List() {
		total += len(v)
	}
	if env.Err() == nil || total > 2*mostExpanded {
		t.Errorf("%d bytes, error %v", total, env.Err())
	}
	fine := Env(nil, &v1.Container{Env: c.Env[:8]})
	if fine.Expand([]string{"$(A7)"}); fine.Err() != nil {
		t.Error(fine.Err())
	}
}
