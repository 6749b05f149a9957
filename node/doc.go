// Package node knows the machine islet runs on.
//
// [Inspect] reads once, at start, what does not change while the machine is up:
// its name, addresses, memory, processors and boot id. [Cgroups] names the
// cgroup under which the containers of a pod run, and removes it when the pod
// is gone: engines make the directories but leave the empty ones behind.
//
// Capacity, pressure, garbage collection and shutdown join this package later.
package node
