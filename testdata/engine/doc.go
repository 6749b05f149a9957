// Command engine does for this repository's scripts the few things they would
// need the docker command or curl for: a fresh machine has neither.
//
// The engine is the one of DOCKER_HOST, or unix:///var/run/docker.sock.
//
//	engine address            print the address of the engine
//	engine ping               exit 0 when the engine answers, print its version
//	engine image              make the example image, see testdata/images
//	engine fetch URL          print what a web server answers
//	engine freeport           print a TCP port that is free now
//	engine holder PORT        print the container that publishes a TCP port
//	engine list ROOT          print the containers of the islet with this root-dir
//	engine sweep ROOT         remove its containers and its network, by force
//
// list and sweep look at the label run.islet.root and touch nothing else.
// Exit codes: 0 done, 1 failed (holder: nobody publishes it), 2 usage.
package main
