package docker

import (
	"sort"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/islet-run/islet/pods"
)

// ids returns what the index knows of a pod, and whether it says that is all.
func ids(x *index, key pods.Key) (string, bool) {
	list, complete := x.snapshot(key)
	var out []string
	for _, g := range list {
		out = append(out, g.id)
	}
	sort.Strings(out)
	return strings.Join(out, " "), complete
}

func TestIndex(t *testing.T) {
	web := identity{key: pods.Key{Name: "web"}, uid: "u"}
	other := identity{key: pods.Key{Name: "other"}, uid: "v"}
	x := newIndex()
	check := func(step string, want string, wantComplete bool) {
		t.Helper()
		if got, complete := ids(x, web.key); got != want || complete != wantComplete {
			t.Errorf("%s: %q, complete %v; want %q, %v", step, got, complete, want, wantComplete)
		}
	}
	check("new", "", false)
	x.add("1", "n1", web)
	check("own create without a stream", "1", false)
	x.merge(nil, x.mark(), []listed{{id: "1", name: "n1", who: web}})
	check("a list without a stream", "1", false)

	x.connected()
	check("connected", "1", false)
	m := x.mark()
	x.add("2", "n2", web)
	x.merge(&web.key, m, []listed{{id: "1", name: "n1", who: web}})
	check("what came after the list was begun stays", "1 2", true)
	if _, complete := ids(x, other.key); complete {
		t.Error("a list of one pod says nothing about another")
	}
	x.drop("1")
	x.drop("2")
	check("all gone", "", true)

	x.add("3", "n3", web)
	x.add("4", "n4", other)
	x.merge(nil, x.mark(), []listed{{id: "4", name: "n4", who: other}})
	check("what is not listed is gone", "", true)
	if len(x.pods) != 1 {
		t.Errorf("%d pods are kept, one has containers", len(x.pods))
	}

	m = x.mark()
	x.lost()
	x.connected()
	x.merge(nil, m, []listed{{id: "5", name: "n5", who: web}})
	check("a list from before the gap", "5", false)
	x.lost()
	check("lost", "5", false)
}

func TestIndexFinal(t *testing.T) {
	who := identity{key: pods.Key{Name: "web"}}
	final := &sighting{}
	x := newIndex()
	x.add("1", "n", who)
	have := func() (uint64, bool) {
		list, _ := x.snapshot(who.key)
		return list[0].version, list[0].final != nil
	}
	v, _ := have()
	x.learn("1", v, "SIGTERM", final)
	if _, ok := have(); !ok || x.stopSignal("1") != "SIGTERM" {
		t.Error("the end was not kept")
	}
	x.changed("1") // somebody started it again, or its memory event came late
	if _, ok := have(); ok {
		t.Error("the end is kept after an event")
	}
	x.learn("1", v, "SIGTERM", final)
	if _, ok := have(); ok {
		t.Error("an end that was seen before an event is kept after it")
	}
	v, _ = have()
	x.learn("1", v, "SIGTERM", final)
	x.merge(nil, x.mark(), []listed{{id: "1", name: "n", who: who, state: container.StateRunning}})
	if _, ok := have(); ok {
		t.Error("the end is kept though a list shows it running")
	}
	x.drop("1")
	x.learn("1", v, "SIGTERM", final) // too late, and no harm
	if x.known("1") {
		t.Error("known after it is gone")
	}
}

func TestIndexInflight(t *testing.T) {
	who := identity{key: pods.Key{Name: "web"}}
	x := newIndex()
	x.begin("n")
	x.begin("n")
	x.add("1", "n", who)
	x.end("n")
	if list, _ := x.snapshot(who.key); !list[0].starting || !x.isInflight("n") {
		t.Error("one of two calls ended: still starting")
	}
	x.end("n")
	if list, _ := x.snapshot(who.key); list[0].starting || x.isInflight("n") {
		t.Error("both calls ended: not starting")
	}
}
