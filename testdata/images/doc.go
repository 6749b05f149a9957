// Package images makes the container images that examples, scripts and
// benchmarks run, without a registry and without the docker command.
//
// [Example] packs the statically linked busybox of this machine into a root
// file system, one symbolic link per applet beside it, and [Example.Import]
// hands that to the engine as the image [ExampleRef]. The same busybox always
// gives the same bytes; their digest is a label of the image, so an import that
// would change nothing is skipped and may be asked for at every start.
//
// The package lies under testdata: it is not part of ./... and never of the
// program that is shipped.
package images
