// Package pause carries the program that holds the namespaces of a pod, and
// the image it is run from.
//
// The program (pause.c) is process 1 of every sandbox: it waits, collects
// orphaned children, and ends at once on SIGTERM or SIGINT. The built binary is
// checked in beside its source, is embedded in islet, and is loaded into the
// engine as a local image, so that no registry is needed to start a pod.
//
// The image's tag is made from its content: two versions of islet on one engine
// never overwrite each other's image, and a loaded image never has to be
// compared. `make` in this folder rebuilds the binary after a change of pause.c;
// a test fails when the two do not belong together.
package pause
