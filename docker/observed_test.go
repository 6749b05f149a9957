package docker

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"

	"github.com/islet-run/islet/pods"
)

const (
	created = "2026-03-01T10:00:00.5Z"
	started = "2026-03-01T10:00:01.25Z"
	ended   = "2026-03-01T11:00:00Z"
	never   = "0001-01-01T00:00:00Z"
)

func at(text string) time.Time { return parseTime(text) }

func inspected(in container.State) container.InspectResponse {
	return container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{
			ID: "id1", Created: created, State: &in, Image: "sha256:aa", HostConfig: &container.HostConfig{NetworkMode: "islet"},
		},
		Config: &container.Config{},
	}
}

func TestStateOf(t *testing.T) {
	boot := at("2026-03-01T10:30:00Z")
	for _, row := range []struct {
		name  string
		in    container.State
		boot  string
		since time.Time
		want  state
	}{
		{"waiting for its start", container.State{Status: "created", StartedAt: never, FinishedAt: never}, "", time.Time{},
			state{state: pods.StateCreated, createdAt: at(created)}},
		{"start failed", container.State{Status: "created", ExitCode: 127, Error: "no such file", StartedAt: never, FinishedAt: never}, "", time.Time{},
			state{state: pods.StateExited, exitCode: 127, reason: "ContainerCannotRun", message: "no such file", createdAt: at(created), startedAt: at(created), finishedAt: at(created)}},
		{"runs", container.State{Status: "running", Running: true, StartedAt: started, FinishedAt: never}, "", time.Time{},
			state{state: pods.StateRunning, createdAt: at(created), startedAt: at(started)}},
		{"paused", container.State{Status: "paused", Running: true, Paused: true, StartedAt: started, FinishedAt: never}, "", time.Time{},
			state{state: pods.StateRunning, createdAt: at(created), startedAt: at(started)}},
		{"completed", container.State{Status: "exited", StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateExited, reason: "Completed", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"failed", container.State{Status: "exited", ExitCode: 3, StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateExited, exitCode: 3, reason: "Error", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"killed", container.State{Status: "exited", ExitCode: 137, StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateExited, exitCode: 137, signal: 9, reason: "Error", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"255 is no signal", container.State{Status: "exited", ExitCode: 255, StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateExited, exitCode: 255, reason: "Error", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"a child ran out of memory", container.State{Status: "exited", OOMKilled: true, StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateExited, reason: "OOMKilled", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"being removed", container.State{Status: "removing", StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateUnknown, createdAt: at(created), startedAt: at(started)}},
		{"dead: ended, and its removal got stuck", container.State{Status: "dead", Dead: true, ExitCode: 137, StartedAt: started, FinishedAt: ended}, "", time.Time{},
			state{state: pods.StateExited, exitCode: 137, signal: 9, reason: pods.ReasonError, createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"found dead after a restart of the machine", container.State{Status: "exited", StartedAt: started, FinishedAt: ended}, "boot-0", boot,
			state{state: pods.StateExited, exitCode: 255, reason: "Error", message: messageMachineRestarted, createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"ended before the restart of the machine", container.State{Status: "exited", StartedAt: started, FinishedAt: ended}, "boot-0", at(ended).Add(time.Minute),
			state{state: pods.StateExited, reason: "Completed", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
		{"ended in this boot", container.State{Status: "exited", StartedAt: started, FinishedAt: ended}, "boot-1", boot,
			state{state: pods.StateExited, reason: "Completed", createdAt: at(created), startedAt: at(started), finishedAt: at(ended)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := testSettings
			s.bootTime = row.since
			if got := stateOf(s, row.boot, inspected(row.in)); got != row.want {
				t.Errorf("got  %+v\nwant %+v", got, row.want)
			}
		})
	}
	if got := stateOf(testSettings, "", container.InspectResponse{}); got.state != pods.StateUnknown {
		t.Errorf("an empty answer: %+v", got)
	}
}

func TestSandboxOf(t *testing.T) {
	who := identity{kind: typeSandbox, attempt: 3, boot: "boot-1"}
	in := inspected(container.State{Status: "running", Running: true, StartedAt: started})
	in.NetworkSettings = &container.NetworkSettings{Networks: map[string]*network.EndpointSettings{
		"a":     {IPAddress: "10.0.0.1", GlobalIPv6Address: "fd00::1"},
		"islet": {IPAddress: "10.0.0.2"},
		"none":  nil,
	}}
	got := sandboxOf(testSettings, who, in)
	want := pods.Sandbox{
		ID: "id1", Attempt: 3, State: pods.StateRunning, IPs: []string{"10.0.0.2", "10.0.0.1", "fd00::1"}, Boot: "boot-1",
		CreatedAt: at(created), StartedAt: at(started),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	in.HostConfig.NetworkMode = "host"
	if got := sandboxOf(testSettings, who, in); !got.HostNetwork || got.IPs != nil {
		t.Errorf("host network: %+v", got)
	}
}

func TestContainerOf(t *testing.T) {
	who := containerSpec(testSettings, "docker://sha256:aa", containerRequest(nil)).who
	got := containerOf(testSettings, who, inspected(container.State{Status: "exited", ExitCode: 2, StartedAt: started, FinishedAt: ended}))
	want := pods.Container{
		ID: "id1", SandboxID: "sb1", Name: "main", Type: pods.TypeRegular, Attempt: 1, Restarts: 4, Generation: 3,
		Hash: who.hash, Boot: "boot-1", State: pods.StateExited, Image: "app:1", ImageID: "docker://sha256:aa",
		ExitCode: 2, Reason: "Error", CreatedAt: at(created), StartedAt: at(started), FinishedAt: at(ended),
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAssembleSorts(t *testing.T) {
	box := func(id string, attempt int) sighting {
		return sighting{who: identity{uid: "u"}, sandbox: &pods.Sandbox{Attempt: attempt, ID: id}}
	}
	run := func(name string, attempt int) sighting {
		return sighting{who: identity{uid: "v"}, container: &pods.Container{Name: name, Attempt: attempt}}
	}
	got := assemble([]sighting{run("b", 0), box("x", 0), run("a", 0), run("a", 2), box("y", 1)})
	want := []pods.Observed{
		{UID: "u", Sandboxes: []pods.Sandbox{{Attempt: 1, ID: "y"}, {Attempt: 0, ID: "x"}}},
		{UID: "v", Containers: []pods.Container{{Name: "a", Attempt: 2}, {Name: "a"}, {Name: "b"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTail(t *testing.T) {
	tail := &tail{limit: 8}
	for _, part := range []string{"one ", "two ", "three"} {
		if n, err := tail.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := string(tail.data); got != "wo three" {
		t.Errorf("kept %q", got)
	}
	tail.Write([]byte(strings.Repeat("x", 100)))
	if got := string(tail.data); got != "xxxxxxxx" {
		t.Errorf("kept %q", got)
	}
}

func TestJoinMessages(t *testing.T) {
	for _, row := range [][3]string{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a: b"}} {
		if got := joinMessages(row[0], row[1]); got != row[2] {
			t.Errorf("%q and %q: %q", row[0], row[1], got)
		}
	}
}

func TestDefaultDevice(t *testing.T) {
	head := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
	for _, row := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"none", []string{head}, ""},
		{"one", []string{head, "eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0", "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0"}, "eth0"},
		{"the lowest metric", []string{head, "wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0", "eth1\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0"}, "eth1"},
		{"half of everything is no default", []string{head, "tun0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000080\t0\t0\t0"}, ""},
		{"garbage", []string{"", "x y"}, ""},
	} {
		if got := defaultDevice(row.lines); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestBootTime(t *testing.T) {
	if got := bootTime("cpu 1 2\nbtime 1700000000\nprocesses 3\n"); got.Unix() != 1700000000 {
		t.Errorf("got %v", got)
	}
	for _, text := range []string{"", "btime x\n", "nothing\n"} {
		if got := bootTime(text); !got.IsZero() {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestOwners(t *testing.T) {
	entry := func(owner, root, name string) container.Summary {
		sp := containerSpec(settings{owner: owner, root: root}, "", containerRequest(nil))
		return container.Summary{Names: []string{"/" + name}, Labels: sp.config.Labels}
	}
	got := owners([]container.Summary{
		entry("b", "/new", "k8s_x"), entry("a", "/r", "k8s_y"), entry("b", "/old", "k8s_z"), entry("c", "/r", "foreign"), {},
	})
	want := []OwnerInfo{{"a", "/r", 1}, {"b", "/new", 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
