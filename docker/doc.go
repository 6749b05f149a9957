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
// # Images
//
// What is present is found by one inspect that waits for nothing. What is not
// is pulled, however many pods ask for it, by one pull, a few at a time in the
// order in which they were asked for; a pod that leaves takes only its own wait
// along, and a pull that nobody waits for ends after a moment. Two calls share a
// pull only if they log in with the same credentials. The configured sandbox
// image is pulled in the same way and waits for no turn.
//
// Package docker/credentials finds what to log in with, anew for each pull; all
// that fits is tried in turn, and nothing that fits means an anonymous pull.
//
// A pull may take as long as it likes. One that brings nothing for
// [Config.PullStall] while something must come from the registry is given up;
// checking and unpacking, about which the engine is silent, are waited for. A
// download that is cut off is taken up again by the engine, a pull that fails by
// the caller after a back-off. Failures carry the registry's own words;
// RegistryUnavailable stands for one that cannot be reached or answers for
// another (502, 503, 504), ErrImagePull for all that somebody has to repair,
// names that cannot be resolved included.
//
// The log says when a pull starts and, with time and size, that it is done, and
// in between how far it is at most every ten seconds or quarter;
// [Config.WatchPulls] is for a terminal.
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
// container.go, create.go, observe.go, stop.go; image.go and behind it pull.go,
// pullstream.go, pullreport.go, pullerror.go), then watch.go and what it makes
// ready (probe.go, network.go, pauseimage.go).
package docker
