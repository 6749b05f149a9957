package sources

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/islet-run/islet/manifests"
)

// A pod that has finished takes labels in place; a new image is a new instance,
// as nothing of the old one is left to take it.
func TestEditsOfFinishedPods(t *testing.T) {
	text := func(label, image string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {l: " + label + "}}, spec: {restartPolicy: Never, containers: [{name: c, image: '" + image + "'}]}}"
	}
	for _, finished := range []bool{false, true} {
		bubble(t, onlyFile, func(m *mux) {
			m.stop()
			m.cfg.Decode, m.cfg.Compare, m.cfg.EffectiveDigest = manifests.Decode, manifests.Compare, manifests.EffectiveDigest
			asked := types.UID("")
			m.cfg.Finished = func(uid types.UID) bool { asked = uid; return finished }
			m.start()
			send := func(label, image string) Pod {
				t.Helper()
				u := Update{Source: "file", Clean: true}
				for _, d := range manifests.Decode([]byte(text(label, image)), manifests.Options{}) {
					u.Documents = append(u.Documents, Document{Origin: Origin{Source: "file", Path: "/a", Document: 1, Line: 1}, Doc: d})
				}
				m.in <- u
				return (<-m.pc.Updates()).Pods[0]
			}
			send("one", "i:1")
			if p := send("two", "i:1"); p.Pod.UID != "uid-1" || p.Pod.Generation != 2 || asked != "" {
				t.Errorf("finished %t: a label makes %s generation %d, asked about %q", finished, p.Pod.UID, p.Pod.Generation, asked)
			}
			p := send("two", "i:2")
			if replaced := p.Pod.UID != "uid-1"; replaced != finished || asked != "uid-1" {
				t.Errorf("finished %t: an image makes %s generation %d, asked about %q", finished, p.Pod.UID, p.Pod.Generation, asked)
			}
		})
	}
}
