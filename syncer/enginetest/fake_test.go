package enginetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/pods"
	"github.com/islet-run/islet/syncer"
	"github.com/islet-run/islet/syncer/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The two interfaces are the same one.
var (
	_ syncer.Engine     = enginetest.Engine(nil)
	_ enginetest.Engine = syncer.Engine(nil)
	_ syncer.Engine     = (*enginetest.Fake)(nil)
)

func TestFakeContract(t *testing.T) {
	enginetest.Contract(t, func(*testing.T) enginetest.Subject {
		f := enginetest.NewFake()
		f.SetImage("test/absent:1", enginetest.ImageBehaviour{Absent: true, PullFails: -1})
		return enginetest.Subject{
			Engine: f, Image: "test/present:1", Absent: "test/absent:1",
			Down: func() { f.Down(errors.New("connection refused")) }, Up: f.Up,
		}
	})
}

var key = pods.Key{Realm: pods.RealmLocal, Namespace: "default", Name: "web"}

func pod(uid types.UID) *v1.Pod {
	p := &v1.Pod{}
	p.Name, p.Namespace, p.UID = key.Name, key.Namespace, uid
	return p
}

func startSandbox(t *testing.T, f *enginetest.Fake, uid types.UID, attempt int) string {
	t.Helper()
	box, err := f.StartSandbox(context.Background(), pods.SandboxRequest{Key: key, Pod: pod(uid), Attempt: attempt})
	if err != nil {
		t.Fatal(err)
	}
	return box.ID
}

func request(box string, uid types.UID, attempt int) pods.ContainerRequest {
	return pods.ContainerRequest{
		Key: key, Pod: pod(uid), Container: &v1.Container{Name: "main", Image: "app"}, Type: pods.TypeRegular,
		Attempt: attempt, SandboxID: box, Image: pods.Image{Ref: "app", ID: "sha256:app"},
	}
}

func container(t *testing.T, f *enginetest.Fake, id string) pods.Container {
	t.Helper()
	for _, o := range f.Peek(key) {
		for _, c := range o.Containers {
			if c.ID == id {
				return c
			}
		}
	}
	t.Fatalf("no container %s", id)
	return pods.Container{}
}

func TestFakeLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewFake()
		f.Program("app",
			enginetest.Behaviour{StartTakes: time.Second, Exits: true, Runs: time.Minute, ExitCode: 4},
			enginetest.Behaviour{StopTakes: 3 * time.Second},
			enginetest.Behaviour{IgnoresTerm: true},
			enginetest.Behaviour{Exits: true, OOM: true, ExitCode: 137},
		)
		box := startSandbox(t, f, "a", 0)
		begin := time.Now()
		id, err := f.StartContainer(t.Context(), request(box, "a", 0))
		if err != nil || time.Since(begin) != time.Second {
			t.Fatalf("start: %v after %v", err, time.Since(begin))
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if c := container(t, f, id); c.State != pods.StateRunning {
			t.Errorf("before its end: %+v", c)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if c := container(t, f, id); c.State != pods.StateExited || c.ExitCode != 4 || c.FinishedAt.Sub(c.StartedAt) != time.Minute {
			t.Errorf("after its end: %+v", c)
		}

		id, _ = f.StartContainer(t.Context(), request(box, "a", 1))
		f.Signal(t.Context(), id, "")
		time.Sleep(time.Second)
		f.Signal(t.Context(), id, "TERM") // a second one changes nothing
		time.Sleep(2*time.Second - time.Nanosecond)
		if c := container(t, f, id); c.State != pods.StateRunning {
			t.Errorf("before it has heeded the signal: %+v", c)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if c := container(t, f, id); c.State != pods.StateExited || c.ExitCode != 0 {
			t.Errorf("after it has heeded the signal: %+v", c)
		}

		id, _ = f.StartContainer(t.Context(), request(box, "a", 2))
		f.Signal(t.Context(), id, "")
		time.Sleep(time.Hour)
		if c := container(t, f, id); c.State != pods.StateRunning {
			t.Errorf("ignores TERM: %+v", c)
		}
		f.Signal(t.Context(), id, "KILL")
		if c := container(t, f, id); c.ExitCode != 137 || c.Signal != 9 {
			t.Errorf("killed: %+v", c)
		}

		id, _ = f.StartContainer(t.Context(), request(box, "a", 3))
		synctest.Wait()
		if c := container(t, f, id); c.Reason != pods.ReasonOOMKilled {
			t.Errorf("out of memory: %+v", c)
		}
		if v := f.Violations(); len(v) != 0 {
			t.Errorf("violations: %v", v)
		}
	})
}

func TestFakeHangsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewFake()
		f.Program("app", enginetest.Behaviour{StartTakes: time.Minute}, enginetest.Behaviour{StartHangs: true})
		box := startSandbox(t, f, "a", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.StartContainer(ctx, request(box, "a", 0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("caller gave up: %v", err)
		}
		if o := f.Peek(key)[0]; o.Containers[0].State != pods.StateCreated {
			t.Errorf("under way: %+v", o.Containers[0])
		}
		id, err := f.StartContainer(t.Context(), request(box, "a", 0))
		if err != nil || time.Since(container(t, f, id).StartedAt) != 0 {
			t.Errorf("a second call waits for the same start: %v", err)
		}
		f.Signal(t.Context(), id, "KILL")

		done := make(chan error, 1)
		go func() {
			_, err := f.StartContainer(t.Context(), request(box, "a", 1))
			done <- err
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a hanging start ended: %v", err)
		default:
		}
		f.Down(errors.New("gone"))
		if err := <-done; !errors.Is(err, pods.ErrEngineAway) {
			t.Errorf("a hanging start, engine down: %v", err)
		}
		f.Up()
	})
}

func TestFakePulls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewFake()
		f.SetImage("app", enginetest.ImageBehaviour{Absent: true, PullTakes: 2 * time.Second, PullFails: 2, Error: "unauthorized"})
		for try := 1; try <= 4; try++ {
			begin := time.Now()
			_, err := f.EnsureImage(t.Context(), pods.ImageRequest{Ref: "app", Policy: v1.PullIfNotPresent})
			took := time.Since(begin)
			switch {
			case try <= 2 && (err == nil || err.Error() != "unauthorized" || took != 2*time.Second):
				t.Errorf("pull %d: %v after %v", try, err, took)
			case try == 3 && (err != nil || took != 2*time.Second):
				t.Errorf("pull %d: %v after %v", try, err, took)
			case try == 4 && (err != nil || took != 0):
				t.Errorf("look-up after the pull: %v after %v", err, took)
			}
		}
	})
}

func TestFakeViolations(t *testing.T) {
	f := enginetest.NewFake()
	box := startSandbox(t, f, "a", 0)
	if _, err := f.StartContainer(t.Context(), request(box, "a", 0)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		want string
		do   func()
	}{
		{"two live copies", func() { f.StartContainer(t.Context(), request(box, "a", 1)) }},
		{"runs", func() { startSandbox(t, f, "b", 0) }},
		{"does not run", func() { f.StartContainer(t.Context(), request("nowhere", "a", 2)) }},
	} {
		before := len(f.Violations())
		row.do()
		got := f.Violations()
		if len(got) != before+1 || !strings.Contains(got[before], row.want) {
			t.Errorf("violations %q, want one more with %q", got, row.want)
		}
	}
}

func TestFakeFaultsAndCalls(t *testing.T) {
	f := enginetest.NewFake()
	broken := errors.New("broken")
	f.SetFault(func(_ context.Context, c enginetest.Call) error {
		if c.Method == "StartContainer" && c.Attempt == 0 {
			return broken
		}
		return nil
	})
	box := startSandbox(t, f, "a", 0)
	if _, err := f.StartContainer(t.Context(), request(box, "a", 0)); !errors.Is(err, broken) {
		t.Errorf("fault: %v", err)
	}
	id, err := f.StartContainer(t.Context(), request(box, "a", 1))
	if err != nil {
		t.Fatal(err)
	}
	f.Vanish(id)
	f.Exit(box, 137)
	calls := f.Calls("StartSandbox", "StartContainer")
	if len(calls) != 3 || calls[0].ID != box || calls[1].Err == nil || calls[2].ID != id || calls[2].Container != "main" || calls[2].Done.IsZero() {
		t.Errorf("calls: %+v", calls)
	}
	if o := f.Peek(key); len(o) != 1 || len(o[0].Containers) != 0 || o[0].Sandboxes[0].State != pods.StateExited {
		t.Errorf("left: %+v", o)
	}
}
