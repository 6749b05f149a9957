package pods

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// Environment is the environment of one container, in the order in which its
// variables first appear in the spec.
type Environment struct {
	names  []string
	values map[string]string
	budget int  // bytes that references may still bring in
	over   bool // they brought in more
}

// mostExpanded bounds what all references of a container expand to. A kernel
// takes 2 MiB of arguments and environment at most; without a bound a few
// lines that name each other twice grow beyond any memory.
const mostExpanded = 2 << 20

// Err says that the environment is too large to be one, nil when it is not.
func (e *Environment) Err() error {
	if !e.over {
		return nil
	}
	return fmt.Errorf("expand environment: its $(NAME) references come to more than %d bytes", mostExpanded)
}

// lookup is the mapping that expansion asks. What goes beyond the budget
// expands to nothing, and is remembered.
func (e *Environment) lookup() func(string) string {
	find := expansion.MappingFuncFor(e.values)
	return func(name string) string {
		value := find(name)
		if len(value) > e.budget {
			e.over = true
			return ""
		}
		e.budget -= len(value)
		return value
	}
}

// Env computes the environment of a container of a pod from the plain values
// in its spec; entries with valueFrom are not its business and are skipped.
//
// A value may refer to variables defined before it as $(NAME); $$ is a literal
// $, and a reference to an unknown or later variable stays as it is. Of two
// definitions of a name the later wins, and may refer to the earlier.
//
// The caller asks [Environment.Err] when it has expanded everything.
func Env(_ *v1.Pod, c *v1.Container) *Environment {
	e := &Environment{values: make(map[string]string, len(c.Env)), budget: mostExpanded}
	expand := e.lookup()
	for i := range c.Env {
		v := &c.Env[i]
		if v.ValueFrom != nil {
			continue
		}
		value := v.Value
		if value != "" {
			value = expansion.Expand(value, expand)
		}
		if _, ok := e.values[v.Name]; !ok {
			e.names = append(e.names, v.Name)
		}
		e.values[v.Name] = value
	}
	return e
}

// List returns the variables as NAME=VALUE.
func (e *Environment) List() []string {
	list := make([]string, 0, len(e.names))
	for _, name := range e.names {
		list = append(list, name+"="+e.values[name])
	}
	return list
}

// Expand replaces $(NAME) in command or args. It returns nil for no words, as
// an engine tells nil (the image's own) from empty (none).
func (e *Environment) Expand(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	expand := e.lookup()
	expanded := make([]string, len(words))
	for i, w := range words {
		expanded[i] = expansion.Expand(w, expand)
	}
	return expanded
}
