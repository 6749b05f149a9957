// Package pods decides what should happen next to one pod. It is pure: no
// clock, no I/O, no goroutine; time is an argument and the next time it wants
// to be asked is a result.
//
// # The two questions
//
// [Plan] answers "what now?": from what is wanted (a [Want], or nil when no
// document asks for the pod any more) and what there is (a [Have]: the durable
// [Record] of each instance, what the engine shows, what is under way) it
// returns [Action] values in the order in which they may be carried out, each
// with the reason for it, and the time at which it wants to be asked again.
//
// [Status] answers "how is it?": the v1.PodStatus the kubelet would report.
//
// # How a caller uses it
//
// The caller (syncer) observes the engine, calls Plan, carries the actions out
// and observes again until Plan returns nothing. Actions never block the
// caller: those that take time (see [ActionKind.Beside]) run beside it and are
// visible to the next Plan in [Instance.Ops] until they end. After a failed
// action the rest of that plan is stale and dropped; the failure is put into
// [Instance.Failures] and Plan is asked again.
//
// # Words
//
// A pod is a [Key]: namespace and name in a realm. An instance is one life of
// that pod and has its own UID. At most one instance of a key is live; a
// replacement waits until the last container of its predecessor is gone.
// An attempt numbers the sandboxes of an instance, and the runs of each of its
// containers.
//
// The package also holds the words in which the engine adapter and its caller
// speak ([SandboxRequest], [ContainerRequest], [Observed], [EngineEvent]), so
// that neither has to import the other.
package pods
