// Command islet runs Kubernetes pods on this machine from manifests, with no
// API server: what a file in the manifests directory says is what Docker runs.
//
//	islet run                  run the pods of a directory until told to stop
//	islet status [POD]         what runs, from which file, and what was refused
//	islet why POD              the story of one pod
//	islet validate FILE|DIR|-  what islet would say of manifests; needs no engine
//	islet down                 stop the pods and then islet
//	islet version              what this program is
//	islet completion SHELL     completion for bash, zsh, fish, powershell
//
// status, why and down talk to a running islet through the socket in its state
// directory (--root-dir); the package httpapi is the other end.
//
// Where to read: root.go has the commands, options.go the flags of run and
// down, run.go and wire*.go what run puts together, exit.go the exit codes and
// output.go the rules of everything that is printed. islet.service beside them
// is the systemd unit.
package main
