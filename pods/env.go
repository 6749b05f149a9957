package pods

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// Environment is the environment of one container, in the order in which its
// variables first appear in the spec.
type Environment struct {
	names  []string
	values map[string]string
}

// Env computes the environment of a container of a pod from the plain values
// in its spec; entries with valueFrom are not its business and are skipped.
//
// A value may refer to variables defined before it as $(NAME); $$ is a literal
// $, and a reference to an unknown or later variable stays as it is. Of two
// definitions of a name the later wins, and may refer to the earlier.
func Env(_ *v1.Pod, c *v1.Container) Environment {
	e := Environment{values: make(map[string]string, len(c.Env))}
	expand := expansion.MappingFuncFor(e.values)
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
func (e Environment) List() []string {
	list := make([]string, 0, len(e.names))
	for _, name := range e.names {
		list = append(list, name+"="+e.values[name])
	}
	return list
}

// Expand replaces $(NAME) in command or args. It returns nil for no words, as
// an engine tells nil (the image's own) from empty (none).
func (e Environment) Expand(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	expand := expansion.MappingFuncFor(e.values)
	expanded := make([]string, len(words))
	for i, w := range words {
		expanded[i] = expansion.Expand(w, expand)
	}
	return expanded
}
