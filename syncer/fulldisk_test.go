package syncer_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"

	"github.com/islet-run/islet/syncer/enginetest"
)

var errFull = errors.New("no space left on device")

// While records cannot be written, what is to run for ever is restarted all the
// same; what may run only so often waits; what is not wanted any more ends; and
// the log, which may lie on the same disk, is told once.
func TestAFullDiskStopsNothingThatRuns(t *testing.T) {
	log := &lockedBuffer{}
	in(t, func(h *house) {
		h.log = zerolog.New(log)
		h.restart()
		crash := enginetest.Behaviour{Exits: true, Runs: 30 * time.Second, ExitCode: 1}
		for _, name := range []string{"always", "onfailure"} {
			h.engine.Program(name+":1", crash, enginetest.Behaviour{})
		}
		h.want(aPod("a", image("always")), aPod("leave"), aPod("b", image("onfailure"), func(p *v1.Pod) {
			p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
		}))
		h.pass(10 * time.Second)
		h.running("a", "c")
		h.running("b", "c")

		h.records.fail(errFull)
		h.drop("leave")
		h.want(aPod("come"))
		h.pass(10 * time.Minute)
		h.running("a", "c")
		if n := len(h.live("b")); n != 0 {
			t.Error("a container that must not run too often was started without a record")
		}
		h.gone("leave")
		h.running("come")
		if n := strings.Count(log.String(), "was not written"); n != 4 { // of a, b, come and leave
			t.Errorf("told %d times:\n%s", n, log)
		}

		h.records.fail(nil)
		h.pass(5 * time.Second)
		h.running("a", "c")
		h.running("b", "c")
		h.running("come", "c")
		if v := h.view("a"); v.Pod.Status.ContainerStatuses[0].RestartCount != 1 {
			t.Errorf("restart count %d", v.Pod.Status.ContainerStatuses[0].RestartCount)
		}
	})
}

// What was started without its record is found again by the next islet, with
// the record that is older than it.
func TestAFullDiskDoesNotLoseCountOverARestart(t *testing.T) {
	in(t, func(h *house) {
		h.engine.Program("c:1", enginetest.Behaviour{Exits: true, Runs: 30 * time.Second, ExitCode: 1}, enginetest.Behaviour{})
		h.want(aPod("a"))
		h.pass(10 * time.Second)
		h.records.fail(errFull)
		h.pass(time.Minute)
		before := h.ids("a")
		h.restart() // the record on disk is older than what runs
		h.aim()
		h.pass(time.Minute)
		h.running("a", "c")
		if now := h.ids("a"); strings.Join(now, " ") != strings.Join(before, " ") {
			t.Errorf("running %v, before %v", now, before)
		}
		h.records.fail(nil)
		h.pass(time.Minute)
		if v := h.view("a"); v.Pod.Status.ContainerStatuses[0].RestartCount != 1 {
			t.Errorf("restart count %d", v.Pod.Status.ContainerStatuses[0].RestartCount)
		}
	})
}

func image(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Image = name + ":1" }
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
