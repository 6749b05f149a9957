// Package enginetest has two things for whoever runs pods on an engine or is
// one: [Fake], an engine in memory whose containers behave as they are told,
// and [Contract], the suite that says what an engine must do. The suite runs
// against the fake here and against Docker in package docker, so that what is
// tested on the fake holds on the real one.
//
// # The fake
//
// A fake's containers run for a time and exit, ignore SIGTERM, hang at their
// start, fail to start or run out of memory, as the [Behaviour] of their image
// or command says; images can be absent, slow to pull, or fail to. It goes down
// and comes up ([Fake.Down], [Fake.Up]), lets any call fail or wait
// ([Fake.SetFault]), keeps every call with its times ([Fake.Calls]) and notes
// what no caller may do ([Fake.Violations]): two live copies of a container, or
// a start in a sandbox that is dead.
//
// It waits with timers only and holds no lock meanwhile, so it can be used in a
// testing/synctest bubble; it must then be made in it.
//
// The package does not import syncer, so that syncer's own tests can import it.
package enginetest
