// Package pause carries the program that holds the namespaces of a pod, and
// the image it is run from.
//
// The program (pause.c) is process 1 of every sandbox: it waits, collects
// orphaned children, and ends at once on SIGTERM or SIGINT. The binaries
// built from it, one per architecture, are checked in beside their source; the
// one that fits is embedded in islet and loaded into the engine as a local
// image, so that no registry is needed to start a pod.
//
// The image's tag is made from its content: two versions of islet on one engine
// never overwrite each other's image, and a loaded image never has to be
// compared. `make` in this folder rebuilds the binaries after a change of
// pause.c; a test fails when they do not belong together.
package pause
