// Package syncer makes happen what package pods decides.
//
// # Shape
//
// A [Syncer] has one worker per pod (namespace and name, not UID), so that
// predecessor and successor of a replacement are in one pair of hands. A worker
// observes the engine, asks [pods.Plan], carries the actions out and asks
// again until the plan is empty; then it sleeps until the plan's wake time, an
// engine event, the end of something under way or a new target. Nothing global
// is locked while anything waits, and no worker waits for another.
//
// # Who does what
//
// The worker goroutine owns the instances of its pod and their records; it
// never blocks on the engine except to observe. Everything that takes time
// (images, sandboxes, container starts, signals, removals) is an operation: a
// goroutine beside the worker whose end is posted back as a result. Starts wait
// at a gate that admits a few at a time, because an engine starts about one pod
// per second whatever the parallelism; what is already half up goes first.
// Signals, kills and removals never wait there.
//
// # What survives
//
// The record of an instance is written before its first container starts and
// erased after its last trace is gone. When islet starts again, [Syncer.Run]
// takes up the recorded instances, finds what runs and changes nothing of it
// unless the target says so. What the engine holds of this owner without a
// record is ended, but only once every source was read completely.
//
// # The engine is away
//
// Workers then rest; nothing is counted as a failure. As soon as the engine is
// back everything is listed and observed anew.
package syncer
