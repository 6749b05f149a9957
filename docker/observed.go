package docker

import (
	"sort"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"

	"github.com/islet-run/islet/pods"
)

const (
	// exitMachineRestarted is the exit code of what a restart of the machine
	// ended, as newer engines report it themselves.
	exitMachineRestarted    = 255
	messageMachineRestarted = "the machine was restarted while the container ran"
	// signalBase is added to a signal's number by whoever reports the exit.
	signalBase = 128
	lastSignal = 64
)

// state is what inspect says, in the words of package pods.
type state struct {
	state      pods.State
	exitCode   int
	signal     int
	reason     string
	message    string
	createdAt  time.Time
	startedAt  time.Time
	finishedAt time.Time
}

// stateOf interprets an inspected container. Only the status word decides: the
// flags beside it contradict each other while a container ends.
func stateOf(s settings, boot string, in container.InspectResponse) state {
	out := state{state: pods.StateUnknown}
	if in.ContainerJSONBase == nil || in.State == nil {
		return out
	}
	out.createdAt = parseTime(in.Created)
	out.startedAt = parseTime(in.State.StartedAt)
	switch in.State.Status {
	case container.StateRunning, container.StatePaused, container.StateRestarting:
		out.state = pods.StateRunning
	case container.StateCreated:
		out.created(in.State)
	case container.StateExited, container.StateDead:
		// Dead: its end was complete and its removal was not. What is left of it
		// keeps no other run of the container from starting.
		out.exited(s, boot, in.State)
	}
	return out
}

// created: a start that failed leaves the state as it was before, with a code
// and the reason, and without a time of end.
func (s *state) created(in *container.State) {
	s.state = pods.StateCreated
	if in.ExitCode == 0 && in.Error == "" {
		return
	}
	s.state = pods.StateExited
	s.reason = pods.ReasonContainerCannotRun
	s.exitCode = in.ExitCode
	s.message = in.Error
	s.startedAt, s.finishedAt = s.createdAt, s.createdAt
}

func (s *state) exited(set settings, boot string, in *container.State) {
	s.state = pods.StateExited
	s.exitCode = in.ExitCode
	s.message = in.Error
	s.finishedAt = parseTime(in.FinishedAt)
	if endedByMachine(set, boot, s.finishedAt) {
		s.exitCode = exitMachineRestarted
		s.message = messageMachineRestarted
	}
	switch {
	case in.OOMKilled:
		s.reason = pods.ReasonOOMKilled
	case s.exitCode == 0:
		s.reason = pods.ReasonCompleted
	default:
		s.reason = pods.ReasonError
	}
	if n := s.exitCode - signalBase; n > 0 && n <= lastSignal {
		s.signal = n
	}
}

// endedByMachine: a container of an earlier boot whose end is noted within this
// one did not end in it. The daemon found it dead when it came up, and 20.10
// writes down success.
func endedByMachine(s settings, boot string, finished time.Time) bool {
	return boot != "" && s.bootID != "" && boot != s.bootID &&
		!s.bootTime.IsZero() && finished.After(s.bootTime)
}

// sandboxOf is an inspected sandbox.
func sandboxOf(s settings, id identity, in container.InspectResponse) pods.Sandbox {
	st := stateOf(s, id.boot, in)
	out := pods.Sandbox{
		ID: in.ID, Attempt: id.attempt, State: st.state, Boot: id.boot,
		CreatedAt: st.createdAt, StartedAt: st.startedAt,
	}
	if in.HostConfig != nil {
		out.HostNetwork = in.HostConfig.NetworkMode.IsHost()
	}
	if st.state == pods.StateRunning && !out.HostNetwork && in.NetworkSettings != nil {
		out.IPs = addresses(s.network, in.NetworkSettings.Networks)
	}
	return out
}

// addresses of a sandbox: those on our network first, IPv4 before IPv6. The
// top-level fields of older engines are only about the default bridge.
func addresses(ours string, networks map[string]*network.EndpointSettings) []string {
	names := make([]string, 0, len(networks))
	for name := range networks {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if (names[i] == ours) != (names[j] == ours) {
			return names[i] == ours
		}
		return names[i] < names[j]
	})
	var four, six []string
	for _, name := range names {
		n := networks[name]
		if n == nil {
			continue
		}
		if n.IPAddress != "" {
			four = append(four, n.IPAddress)
		}
		if n.GlobalIPv6Address != "" {
			six = append(six, n.GlobalIPv6Address)
		}
	}
	return append(four, six...)
}

// containerOf is an inspected container, without its termination message.
func containerOf(s settings, id identity, in container.InspectResponse) pods.Container {
	st := stateOf(s, id.boot, in)
	out := unseen(in.ID, id)
	out.State = st.state
	out.ExitCode, out.Signal, out.Reason, out.Message = st.exitCode, st.signal, st.reason, st.message
	out.CreatedAt, out.StartedAt, out.FinishedAt = st.createdAt, st.startedAt, st.finishedAt
	if out.ImageID == "" && in.ContainerJSONBase != nil {
		out.ImageID = "docker://" + in.Image
	}
	return out
}

// unseen is what the labels alone say of a container.
func unseen(engineID string, id identity) pods.Container {
	return pods.Container{
		ID: engineID, SandboxID: id.sandbox, Name: id.container, Type: pods.ContainerType(id.kind),
		Attempt: id.attempt, Restarts: id.restarts, Generation: id.generation, Hash: id.hash, Boot: id.boot,
		Image: id.image, ImageID: id.imageID, State: pods.StateUnknown,
	}
}

// parseTime reads an engine's time. Docker writes "never" as the year 1, which
// is Go's zero time.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// assemble groups what was seen of a pod into its instances, in the order that
// pods.Observed promises.
func assemble(seen []sighting) []pods.Observed {
	byUID := map[string]*pods.Observed{}
	for _, s := range seen {
		uid := string(s.who.uid)
		o := byUID[uid]
		if o == nil {
			o = &pods.Observed{UID: s.who.uid}
			byUID[uid] = o
		}
		if s.sandbox != nil {
			o.Sandboxes = append(o.Sandboxes, *s.sandbox)
		}
		if s.container != nil {
			o.Containers = append(o.Containers, *s.container)
		}
	}
	out := make([]pods.Observed, 0, len(byUID))
	for _, o := range byUID {
		sort.Slice(o.Sandboxes, func(i, j int) bool {
			a, b := o.Sandboxes[i], o.Sandboxes[j]
			if a.Attempt != b.Attempt {
				return a.Attempt > b.Attempt
			}
			return a.ID < b.ID
		})
		sort.Slice(o.Containers, func(i, j int) bool {
			a, b := o.Containers[i], o.Containers[j]
			if a.Attempt != b.Attempt {
				return a.Attempt > b.Attempt
			}
			if a.Name != b.Name {
				return a.Name < b.Name
			}
			return a.ID < b.ID
		})
		out = append(out, *o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].UID < out[j].UID })
	return out
}

// sighting is one container or sandbox as it was seen.
type sighting struct {
	who       identity
	sandbox   *pods.Sandbox
	container *pods.Container
}
