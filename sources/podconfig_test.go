package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var onlyFile = []string{"file"}

func TestPublishesWhatAllSourcesSayInOrder(t *testing.T) {
	bubble(t, []string{"file", "url", "push"}, func(m *mux) {
		begin := time.Now()
		m.send("push", 1, "", "pod d 1")
		m.send("url", 1, "http://x", "pod c 1\n---\npod b 1")
		m.send("file", 1, "/b", "pod a 1\n---\nconfigmap k 1\n---\nsecret s 1\n---\nclaim v 1", "/z", "pod z 1")
		s := m.expect("a uid-1 1 1", "z uid-5 1 1", "c uid-6 1 1", "b uid-7 1 1", "d uid-8 1 1")
		if wait := time.Since(begin); wait > 5*time.Millisecond {
			t.Errorf("took %v", wait)
		}
		if !s.Complete || !s.Clean || len(s.ConfigMaps) != 1 || len(s.Secrets) != 1 || len(s.Claims) != 1 {
			t.Errorf("snapshot is %+v", s)
		}
		if s.ConfigMaps[0].UID == "" || s.Secrets[0].Generation != 1 || s.Claims[0].UID == "" {
			t.Error("objects have no identity")
		}
		p := s.Pods[2]
		if p.Origin != (Origin{"url", "http://x", 1, 1}) || p.Digest == "" ||
			p.Pod.Annotations[annotationSource] != "http" || p.Pod.Annotations[annotationHash] == "" {
			t.Errorf("pod is %+v", p)
		}
		m.quiet()
	})
}

func TestEditsBecomeNothingAGenerationOrAnInstance(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod a 1\n---\nconfigmap k 1")
		first := m.expect("a uid-1 1 1")
		m.send("file", 1, "/a", "pod a 1\n---\nconfigmap k 1")
		m.quiet()
		m.send("file", 2, "/a", "pod a 1=\n---\nconfigmap k 1") // means the same
		same := m.expect("a uid-1 1 1")                         // only the digest is another one
		if same.Pods[0].Pod != first.Pods[0].Pod || same.Pods[0].Digest == first.Pods[0].Digest {
			t.Error("the object is another one, or the digest is not")
		}
		m.send("file", 3, "/a", "pod a 1-x\n---\nconfigmap k 2")
		s := m.expect("a uid-1 2 1-x")
		if s.ConfigMaps[0].Generation != 2 || s.ConfigMaps[0].UID != "uid-2" {
			t.Errorf("config map is %v", s.ConfigMaps[0].ObjectMeta)
		}
		m.send("file", 4, "/a", "pod a 2\n---\nconfigmap k 2")
		s2 := m.expect("a uid-3 1 2")
		if s2.ConfigMaps[0] != s.ConfigMaps[0] {
			t.Error("an unchanged object has another address")
		}
		if s2.Pods[0].Pod.Annotations[annotationHash] == s.Pods[0].Pod.Annotations[annotationHash] {
			t.Error("config.hash did not change")
		}
		m.restart()
		m.send("file", 4, "/b", "pod a 2\n---\nconfigmap k 2") // renamed while down
		m.expect("a uid-3 1 2")
		m.restart()
		m.send("file", 5, "/b", "pod a 2-y\n---\nconfigmap k 2")
		m.expect("a uid-3 2 2-y")
	})
}

func TestANameThatComesBackIsSomebodyElse(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod a 1")
		m.expect("a uid-1 1 1")
		m.send("file", 1)
		m.expect()
		m.send("file", 2, "/a", "pod a 1")
		m.expect("a uid-2 1 1")
		m.send("file", 2)
		m.expect()
		m.restart()
		m.send("file", 3, "/a", "pod a 1")
		m.expect("a uid-3 1 1")
	})
}

func TestTheFirstSnapshotHoldsWhatWasAccepted(t *testing.T) {
	bubble(t, []string{"file", "url"}, func(m *mux) {
		m.send("url", 1, "http://x", "pod u 1\n---\npod f 9")
		m.send("file", 1, "/a", "pod f 1")
		m.expect("f uid-1 1 1", "u uid-2 1 1")
		m.restart()
		m.send("file", 2, "/a", "pod f 2\n---\npod u 9\n---\npod n 1")
		s := m.expect("f uid-3 1 2", "n uid-4 1 1", "u uid-2 1 1 hold")
		if s.Complete || s.Clean {
			t.Error("complete without the URL")
		}
		m.entries("/a#1 f accepted", "/a#2 u conflict NameTaken", "/a#3 n accepted", "http://x#1 u held SourceNotRead lastGood")
		m.send("url", 1, "http://x", "pod u 1")
		s = m.expect("f uid-3 1 2", "n uid-4 1 1", "u uid-2 1 1")
		if !s.Complete || !s.Clean {
			t.Error("not complete")
		}
	})
}

func TestNothingAnswersAtStart(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod f 1")
		m.expect("f uid-1 1 1")
		m.restart()
		m.expect("f uid-1 1 1 hold")
		m.quiet()
		m.send("file", 1)
		m.expect()
	})
}

func TestSourceThatIsNotConfiguredAnyMore(t *testing.T) {
	bubble(t, []string{"file", "url"}, func(m *mux) {
		m.send("url", 1, "http://x", "pod u 1\n---\npod v 1")
		m.send("file", 1)
		m.expect("u uid-1 1 1", "v uid-2 1 1")
		m.cfg.Sources = []string{"file", "push"}
		m.restart()
		m.send("file", 2, "/a", "pod u 1") // gets the name although push has not answered
		m.expect("u uid-1 1 1", "v uid-2 1 1 hold")
		m.send("push", 1)
		m.expect("u uid-1 1 1")
	})
}

func TestTheHolderOfANameKeepsIt(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/web.yaml", "pod web new")
		m.expect("web uid-1 1 new")
		// A backup copy under a name that sorts first.
		m.send("file", 2, "/web-backup.yaml", "pod web old", "/web.yaml", "pod web new")
		m.quiet()
		e := m.entries("/web-backup.yaml#1 web conflict NameTaken", "/web.yaml#1 web accepted")
		for _, place := range []string{"/web-backup.yaml", "/web.yaml"} {
			if !strings.Contains(e[0].Message, place) {
				t.Errorf("message %q does not name %s", e[0].Message, place)
			}
		}
		if e[0].Pod != nil || e[1].Pod == nil || e[1].Pod.UID != "uid-1" {
			t.Errorf("pods of the entries: %v, %v", e[0].Pod, e[1].Pod)
		}
		// Touched, edited, removed: nothing but verdicts.
		m.send("file", 3, "/web-backup.yaml", "pod web older", "/web.yaml", "pod web new")
		m.restart()
		m.send("file", 3, "/web-backup.yaml", "pod web older", "/web.yaml", "pod web new")
		m.expect("web uid-1 1 new")
		m.send("file", 3, "/web.yaml", "pod web new")
		m.quiet()
		m.entries("/web.yaml#1 web accepted")
		if n := m.log.count("conflict"); n != 2 {
			t.Errorf("the conflict was logged %d times in two runs", n)
		}
	})
}

func TestTheLoserTakesOverWhenTheHolderGoes(t *testing.T) {
	bubble(t, []string{"file", "push"}, func(m *mux) {
		m.send("push", 1)
		m.send("file", 1, "/a", "pod web 1", "/b", "pod web 2", "/c", "pod web 1")
		m.expect("web uid-1 1 1")
		m.send("file", 1, "/b", "pod web 2", "/c", "pod web 1")
		m.expect("web uid-1 1 1") // the equal one: nothing but its place changes
		m.entries("/b#1 web conflict NameTaken", "/c#1 web accepted")
		m.send("file", 1, "/b", "pod web 2")
		m.expect("web uid-2 1 2")
		m.send("push", 2, "", "pod web 3")
		m.quiet()
		m.send("file", 1)
		m.expect("web uid-3 1 3")
	})
}

func TestNewcomersAreSettledByOrder(t *testing.T) {
	bubble(t, []string{"file", "url", "push"}, func(m *mux) {
		m.send("push", 1, "", "pod web p")
		m.send("url", 1, "http://x", "pod web u")
		m.send("file", 1, "/b", "pod web b1\n---\npod web b2", "/c", "pod web c")
		m.expect("web uid-1 1 b1")
		m.entries("/b#1 web accepted", "/b#2 web conflict NameTaken", "/c#1 web conflict NameTaken",
			"http://x#1 web conflict NameTaken", "#1 web conflict NameTaken")
	})
}

// lastGood turns the only document of a set into a last good copy.
func lastGood(docs []Document, changed uint64, held bool, reason string) []Document {
	docs[0].LastGood, docs[0].Held, docs[0].Reason, docs[0].Message, docs[0].Changed = true, held, reason, "it is broken", changed
	return docs
}

func TestALastGoodCopyGivesWayToWhatCameLater(t *testing.T) {
	for name, tc := range map[string]struct {
		changed uint64 // of the rival; the holder went bad at 5
		want    string
	}{
		"a rival from before does not get the name": {4, ""},
		"one that came with the fault gets it":      {5, "web uid-2 1 2"},
		"one that came later gets it":               {6, "web uid-2 1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, onlyFile, func(m *mux) {
				m.send("file", 1, "/a", "pod web 1")
				m.expect("web uid-1 1 1")
				docs := lastGood(docsOf("file", "/a", "pod web 1", 1), 5, false, "InvalidYAML")
				docs = append(docs, docsOf("file", "/b", "pod web 2", tc.changed)...)
				m.in <- Update{Source: "file", Documents: docs}
				if tc.want == "" {
					s := m.expect("web uid-1 1 1") // not clean any more
					if s.Clean {
						t.Error("clean")
					}
					m.entries("/a#1 web rejected InvalidYAML lastGood", "/b#1 web conflict NameTaken")
					return
				}
				m.expect(tc.want)
				m.entries("/a#1 web rejected InvalidYAML", "/b#1 web accepted")
			})
		})
	}
}

func TestDocumentMovedToAnotherFileAtOnce(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod web 1")
		m.expect("web uid-1 1 1")
		docs := lastGood(docsOf("file", "/a", "pod web 1", 1), 7, true, reasonRemoved)
		docs = append(docs, docsOf("file", "/b", "pod web 1", 7)...)
		m.in <- Update{Source: "file", Clean: true, Documents: docs}
		s := m.expect("web uid-1 1 1")
		if s.Pods[0].Origin.Path != "/b" {
			t.Errorf("origin is %v", s.Pods[0].Origin)
		}
	})
}

func TestRenamedPodWaitsForItsPredecessor(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod x 1\n---\npod old 1")
		m.expect("x uid-1 1 1", "old uid-2 1 1")
		m.send("file", 2, "/a", "pod x 1\n---\npod new 1")
		m.expect("x uid-1 1 1", "new uid-3 1 1 after uid-2")
		m.restart()
		m.send("file", 2, "/a", "pod x 1\n---\npod new 1")
		m.expect("x uid-1 1 1", "new uid-3 1 1 after uid-2")
		// A name that is claimed elsewhere is nobody's predecessor.
		m.send("file", 3, "/a", "pod x 1\n---\npod newer 1", "/b", "pod new 1")
		m.expect("x uid-1 1 1", "newer uid-4 1 1", "new uid-3 1 1 after uid-2")
	})
}

func TestRenewMintsAUID(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod a 1-x")
		m.expect("a uid-1 1 1-x")
		key := Key{RealmLocal, "Pod", "default", "a"}
		if err := m.pc.Renew(context.Background(), key); err != nil {
			t.Fatal(err)
		}
		m.expect("a uid-2 1 1-x")
		key.Name = "b"
		if err := m.pc.Renew(context.Background(), key); !errors.Is(err, ErrUnknown) {
			t.Errorf("renew of an unknown name: %v", err)
		}
		m.restart()
		m.send("file", 1, "/a", "pod a 1-x")
		m.expect("a uid-2 1 1-x")
	})
}

func TestRunningPodsAreAdoptedWhenTheStoreIsLost(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.stop()
		digest := docsOf("file", "/a", "pod a 1", 0)[0].Doc.Digest
		m.cfg.Running = func(k Key) (Running, bool) {
			return Running{UID: "was-" + types.UID(k.Name), Generation: 3, Digest: digest}, true
		}
		m.start()
		m.send("file", 1, "/a", "pod a 1\n---\npod b 1")
		m.expect("a was-a 3 1", "b uid-2 1 1")
	})
}

func TestASlowReaderGetsTheNewest(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		for i := range 50 {
			m.send("file", uint64(i), "/a", fmt.Sprintf("pod a 1-%d", i))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		m.expect("a uid-1 50 1-49")
		m.quiet()
	})
}

func TestUpdatesThatKeepComingAreNotPutOffForEver(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.cfg.Quiet = 10 * time.Millisecond
		m.restart()
		m.send("file", 0, "/a", "pod a 1")
		m.expect("a uid-1 1 1")
		begin := time.Now()
		for i := range 100 {
			m.send("file", uint64(i), "/a", fmt.Sprintf("pod a 1-%d", i))
			select {
			case <-m.pc.Updates():
				if d := time.Since(begin); d > 25*time.Millisecond {
					t.Errorf("first snapshot after %v", d)
				}
				return
			case <-time.After(time.Millisecond):
			}
		}
		t.Error("no snapshot")
	})
}

func TestVerdictsStandAndAreLoggedOncePerChange(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod a 1\n---\nbad\n---\nservice s\n---\nbad b")
		m.expect("a uid-1 1 1")
		want := []string{"/a#1 a accepted", "/a#2  rejected InvalidYAML", "/a#3 s rejected UnsupportedKind", "/a#4 b rejected InvalidYAML"}
		first := m.entries(want...)
		if d := first[0].Digest; d == "" || d == docsOf("file", "/a", "pod a 1", 0)[0].Doc.Digest {
			t.Errorf("digest %q is not keyed", d)
		}
		logged := m.log.Len()
		time.Sleep(time.Hour)
		m.send("file", 1, "/a", "pod a 1\n---\nbad\n---\nservice s\n---\nbad b")
		m.quiet()
		again := m.entries(want...)
		if m.log.Len() != logged || again[1].Since != first[1].Since {
			t.Errorf("logged again: %s", m.log.String()[logged:])
		}
		m.in <- Update{Source: "file", Message: "directory is missing", Documents: docsOf("file", "/a", "pod a 1", 1)}
		m.quiet()
		e := m.entries("#0  held SourceTrouble", "/a#1 a accepted")
		if e[0].Message != "directory is missing" {
			t.Errorf("message is %q", e[0].Message)
		}
		e[1].Pod.UID = "changed by the reader"
		if m.pc.Entries()[1].Pod.UID != "uid-1" {
			t.Error("the table is shared with its readers")
		}
	})
}

func TestNoChangeTakesEffectWhileTheStoreCannotBeWritten(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod a 1")
		m.expect("a uid-1 1 1")
		dir := m.cfg.Store.Path("identities")
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		m.send("file", 2, "/a", "pod a 2")
		m.quiet()
		if n := m.log.count("cannot keep identities"); n != 1 {
			t.Errorf("told %d times", n)
		}
		if err := m.pc.Renew(context.Background(), Key{RealmLocal, "Pod", "default", "a"}); err == nil {
			t.Error("renewed without a store")
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		m.expect("a uid-2 1 2")
		m.restart()
		m.send("file", 2, "/a", "pod a 2")
		m.expect("a uid-2 1 2")
	})
}

func TestSecretsLeaveNeitherLogNorStore(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "secret s swordfish")
		m.expect()
		m.send("file", 2, "/a", "secret s swordfish2\n---\nsecret s swordfish3")
		m.expect()
		m.send("file", 3)
		m.expect()
		if m.log.count("swordfish") > 0 {
			t.Error("the log has the secret")
		}
		names, _, err := m.cfg.Store.Collection("identities").List()
		if err != nil || len(names) > 0 {
			t.Errorf("the store has %q, %v", names, err)
		}
	})
}

func TestUnknownSourceIsRefused(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		if _, err := NewPodConfig(PodConfigConfig{Sources: []string{"ftp"}, Store: m.cfg.Store}); err == nil {
			t.Error("ftp was accepted")
		}
		if _, err := NewPodConfig(PodConfigConfig{}); err == nil {
			t.Error("no store was accepted")
		}
		m.send("url", 1, "http://x", "pod a 1")
		m.send("file", 1)
		m.expect()
	})
}

func TestNoSourceAtAll(t *testing.T) {
	bubble(t, nil, func(m *mux) {
		if s := m.expect(); !s.Complete {
			t.Error("not complete")
		}
	})
}

// A disk that takes nothing new: removals take effect, also in a run that began
// on it; all else waits, and is told of.
func TestRemovalsTakeEffectWhileNothingNewCanBeStored(t *testing.T) {
	bubble(t, onlyFile, func(m *mux) {
		m.send("file", 1, "/a", "pod a 1", "/b", "pod b 1", "/c", "pod c 1")
		m.expect("a uid-1 1 1", "b uid-2 1 1", "c uid-3 1 1")
		// A directory in its place keeps the identity of b from being replaced.
		file := m.cfg.Store.Collection("identities").File("local/Pod/default/b")
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block := func() {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(file, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		free := func() {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		block()
		m.send("file", 2, "/a", "pod a 1", "/b", "pod b 2")
		m.expect("a uid-1 1 1", "b uid-2 1 1") // c is gone, b as it was
		m.quiet()
		m.entries("#0  held StoreTrouble", "/a#1 a accepted", "/b#1 b accepted")

		free()
		m.stop()
		m.start()
		synctest.Wait() // what was stored is read
		block()
		m.send("file", 2, "/b", "pod b 2")
		m.expect("b uid-2 1 1")
		m.quiet()
		free()
		s := m.expect("b uid-5 1 2")
		if !s.Clean {
			t.Error("the store works again and the snapshot is not clean")
		}
		m.entries("/b#1 b accepted")
		if n := m.log.count("cannot keep identities"); n != 2 {
			t.Errorf("told %d times, want once in each run", n)
		}
	})
}
