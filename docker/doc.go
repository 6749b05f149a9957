// Package docker runs pods on a Docker Engine. It is the only folder that
// speaks the Docker API; everybody else speaks the words of package pods.
//
// # What a pod is to Docker
//
// A pod is one sandbox container, which runs the program of package
// docker/pause and owns the network and IPC namespaces, and one container per
// run of each container of the pod, which joins them. Names follow the
// kubelet's Docker convention, k8s_<container|POD>_<pod>_<namespace>_<uid>_<attempt>.
// Everything else that must be known again after a restart is in labels (see
// labels.go): Docker is the database of running state. Nothing secret goes
// into a label.
//
// A container belongs to an [Engine] when its owner label is the engine's and
// its name has the prefix. All others, also those of another islet, are never
// looked at, signalled or removed.
//
// A container is never started twice, and no restart policy of Docker is used:
// every run is a new container with the next attempt number.
//
// # How it stays cheap
//
// Starting a pod takes the calls that have to be made, create and start, plus
// one inspect of the sandbox for its addresses. Between changes nothing is
// asked: one filtered event stream tells what changed, an index of container
// ids is kept from it and from own calls, and how a container ended is read
// once. A list by label is made only when the index cannot be trusted, before
// the first [Engine.List] after the stream was (re)connected.
//
// # Being away
//
// [Engine.Watch] supervises the connection. It connects, probes what the
// engine can do when it meets a daemon it does not know, makes the pause image
// and the network ready, subscribes and only then reports EngineUp. When the
// stream breaks it reports EngineDown, once, and tries again until it is up.
// Errors of calls that got no answer match pods.ErrEngineAway.
//
// # Reading order
//
// engine.go, then the pure parts (names.go, labels.go, sandboxspec.go,
// containerspec.go, observed.go, imageref.go), then the calls (sandbox.go,
// container.go, create.go, observe.go, image.go, stop.go), then watch.go and
// what it makes ready (probe.go, network.go, pauseimage.go).
package docker
