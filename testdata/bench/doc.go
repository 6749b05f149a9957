// Command bench measures what islet adds to what the engine costs anyway.
//
// It runs the built islet as its own process, with a root-dir, an owner and a
// manifests directory of its own in a temporary directory, on the Docker Engine
// of DOCKER_HOST, and compares it with a floor: the same Docker calls made by
// hand, one after the other, by a program that knows nothing else.
//
// # The floor
//
// islet starts one pod; its two containers are read back from the engine, and
// the floor creates and starts copies of exactly that: same image, network,
// aliases, mounts, labels, limits and depth of cgroup, with another pod name,
// UID and owner. So the floor follows islet by itself when islet changes what
// it asks for.
//
// # What is measured
//
//   - One by one: from just before the rename of a manifest into the directory
//     (floor: just before the first create call) to the engine's start event of
//     the pod's container. Both sides read one clock, that of this machine.
//     Floor and islet take turns, and so do which of them goes first, so that
//     what drifts drifts for both.
//
//   - At once: all manifests renamed in one go, to the last start event. The
//     floor does the same with as many pods under way as islet allows (-parallel).
//
//   - Idle: CPU time of islet and of dockerd per wall time, and the anonymous
//     memory of islet, with no pod and with all of them; and dockerd with the
//     same pods and no islet, for what islet makes it burn.
//
//   - Stop: from the first signal to the last removal, of a pod whose container
//     heeds TERM; by hand that takes four calls. For islet also from the removal
//     of the manifest, with the second it waits to be sure.
//
//   - Many: idle again with -many pods, and restarts of islet under them: until
//     its socket answers, until it is ready, and whether anything was restarted.
//
//   - podman kube play and a kubelet, where they are installed and can start a
//     pod; else it says that they are not.
//
// Before each trial the engine is given time to calm down. The ratio of medians
// is printed first and the figures below it. The exit code is 1 when something
// could not be measured; no figure makes it fail. Everything that was made is
// removed, also after Ctrl-C.
package main
