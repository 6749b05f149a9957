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
// Beside them stand small pure rules that a start needs: [Admit], [Env],
// [Hostname], [HostsFile], [ResolvConf], [ResourcesOf], [QOS].
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
// What the caller owes Plan in return:
//
//   - An observation begins after the end of every action that it is used with
//     was taken in; else a run just started looks as if it had vanished.
//   - Changes of the record are applied before the next Plan, and are on disk
//     before a container starts that depends on them.
//   - [Signalled] is set when a signal or kill is sent, and says when.
//   - With ActDelete, starts and pulls that have not reached the engine are
//     called off; ActForget does not wait for a pull.
//
// # Words
//
// A pod is a [Key]: namespace and name in a realm. An instance is one life of
// that pod and has its own UID. At most one instance of a key is live; a
// replacement waits until the last container of its predecessor is gone.
// An attempt numbers the sandboxes of an instance, and the runs of each of its
// containers. A sidecar is an init container with restartPolicy Always.
//
// The package also holds the words in which the engine adapter and its caller
// speak ([SandboxRequest], [ContainerRequest], [Observed], [EngineEvent]), so
// that neither has to import the other.
//
// # Restarts and outcomes
//
// Whether a container runs again is decided by the first of its
// restartPolicyRules that fits the exit code, else by its own restartPolicy,
// else by the pod's. An end that nobody saw has no exit code: no rule fits it.
// The action RestartAllContainers ends what else runs with two seconds' notice,
// removes every container, those that began it last, and puts on record that
// all start over ([RunReset]): init containers run again, in the same sandbox,
// and each has one restart more. Until then the record of the end that began it
// is what keeps it going, so it is finished wherever islet was stopped in it.
//
// How a run ended is on record before anything follows from it. So a pod that
// has finished stays finished, an init container that is done is done for its
// sandbox, and counts and back-off go on: after a restart of islet or of the
// machine, and when the engine's containers were collected by somebody else. If
// the record itself is lost, [RecoverRecord] and the labels of what is left give
// start time, counts and back-off back; an end of which nothing is left is lost.
//
// activeDeadlineSeconds counts from the start time that the status shows. When
// it is over the pod is Failed and ends with its grace, whatever its policies
// say. What had finished by itself before that keeps its outcome.
//
// Ended runs stay for their logs: the newest of each container, or more if
// [DeadPolicy] says so.
//
// # Where the rules are
//
// plan.go chooses the live instance and ends the others; live.go holds the
// decisions about the pod as a whole (sandbox, outcome, what is remembered),
// containers.go those about one container (order, back-off, image, start),
// restart.go whether it runs again, and the restart of all; collect.go what is
// removed, stop.go how things end. status.go, containerstatus.go and conditions.go
// together are Status. The numbers are in backoff.go, grace.go and
// resources.go. They are the kubelet's of Kubernetes 1.37; where islet does
// otherwise the code says so:
//
//   - Back-off and the ends of runs are in the record, so a restart of islet
//     or of the machine forgets neither, and what ran once does not run again.
//   - Back-off ends at its exact time.
//   - A container whose end has all containers restart keeps its back-off, so
//     that it cannot have them restart without a pause; the others start at once.
//   - A lost sandbox ends a pod with restartPolicy Never unless a container is
//     to run again by its own policy, a rule or an edit; the kubelet leaves such
//     a pod without containers and calls it Running.
//   - A plain init container that the memory killer hit runs again under its own
//     OnFailure too, whatever the exit code.
//   - A pod that finished before its deadline, unseen, has not missed it.
//   - A pod with restartPolicy Never whose sandbox is lost before any regular
//     container started gets a new one; the kubelet leaves it pending.
//   - A sidecar's stop signal waits for plain init containers too, and always
//     for all that must end before it, also when the grace is used up.
//   - The new image of a container is looked up while its old run ends.
package pods
