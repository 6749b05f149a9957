// Package dockertest helps tests that talk to a Docker Engine.
//
// They use the engine they find, at DOCKER_HOST or the default socket, and do
// it no harm: images are made locally ([Image]), everything a test creates
// carries an owner id of its own and is removed at its end ([Owner]), and what
// stops, crashes or restarts an engine runs on a private daemon ([Start]).
//
// Without an engine such tests fail; with -short they are skipped.
package dockertest
