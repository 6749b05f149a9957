package sources

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestNewFileChecksItsConfiguration(t *testing.T) {
	for _, cfg := range []FileConfig{{}, {Path: "x", Poll: -1}, {Path: "x", RemovalDelay: -1}, {Path: "x"}} {
		if _, err := NewFile(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestReadsADirectoryInOrder(t *testing.T) {
	r := newRig(t, map[string]string{
		"b.yml": "pod b 1", "a.yaml": "pod a 1\n---\nconfigmap c 1", "c.json": "secret s 1",
		"README": "pod readme 1", "a.yaml~": "pod a 2", "a.yaml.bak": "pod a 3", ".a.yaml.swp": "pod a 4",
	})
	u := r.wait("a.yaml pod a 1", "a.yaml configmap c 1", "b.yml pod b 1", "c.json secret s 1")
	if !u.Clean || u.Message != "" || u.Source != SourceFile {
		t.Errorf("update is %+v", u)
	}
	if o := u.Documents[1].Origin; o != (Origin{Source: "file", Path: r.path("a.yaml"), Document: 2, Line: 3}) {
		t.Errorf("origin is %+v", o)
	}
	if n := r.log.count("README"); n != 1 || r.log.count(".swp") > 0 {
		t.Errorf("ignored names told %d times", n)
	}
	r.settled()
	if n := r.log.count("README"); n != 1 {
		t.Errorf("ignored names told %d times", n)
	}
}

func TestAddsEditsAndRemoves(t *testing.T) {
	r := newRig(t, nil)
	r.wait()
	r.put("a.yaml", "pod a 1")
	first := r.wait("a.yaml pod a 1").Documents[0]
	r.put("a.yaml", "pod a 2")
	if second := r.wait("a.yaml pod a 2").Documents[0]; second.Changed <= first.Changed {
		t.Errorf("edit went from %d to %d", first.Changed, second.Changed)
	}
	r.put("b.yaml", "pod b 1")
	r.wait("a.yaml pod a 2", "b.yaml pod b 1")
	r.remove("a.yaml")
	r.wait("a.yaml pod a 2 ?Removed", "b.yaml pod b 1")
	r.wait("b.yaml pod b 1")
}

func TestRemovalOfOneDocumentWaitsForASecondRead(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1\n---\npod b 1"})
	r.wait("a.yaml pod a 1", "a.yaml pod b 1")
	r.put("a.yaml", "pod a 1")
	r.wait("a.yaml pod a 1", "a.yaml pod b 1 ?Removed")
	r.wait("a.yaml pod a 1")
}

// Everything that happens to files without meaning anything.
func TestNothingHappens(t *testing.T) {
	for name, do := range map[string]func(r *rig){
		"touch":          func(r *rig) { r.must(os.Chtimes(r.path("a.yaml"), time.Now(), time.Now())) },
		"same bytes":     func(r *rig) { r.put("a.yaml", "pod a 1") },
		"chmod":          func(r *rig) { r.must(os.Chmod(r.path("a.yaml"), 0o600)) },
		"editor's files": func(r *rig) { r.write(".a.yaml.swp", "x"); r.write("a.yaml~", "pod a 9"); r.remove("a.yaml~") },
		"comment":        func(r *rig) { r.put("a.yaml", "pod a 1 # really") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a.yaml": "pod a 1"})
			before := r.wait("a.yaml pod a 1").Documents[0]
			do(r)
			r.settled()
			after := r.wait("a.yaml pod a 1").Documents[0]
			if after.Changed != before.Changed {
				t.Error("counted as an edit")
			}
			r.always("a")
		})
	}
}

func TestRenamedFileIsTheSameFile(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1"})
	before := r.wait("a.yaml pod a 1").Documents[0]
	r.rename("a.yaml", "b.yaml")
	after := r.wait("b.yaml pod a 1").Documents[0]
	if after.Changed != before.Changed {
		t.Error("counted as an edit")
	}
	for _, u := range r.history {
		if len(u.Documents) != 1 {
			t.Errorf("an update has %q", tellAll(u))
		}
	}
}

func TestEditorsNeverStopThePod(t *testing.T) {
	for name, save := range map[string]func(r *rig){
		"vim: backup, write, delete": func(r *rig) {
			r.rename("a.yaml", "a.yaml~")
			r.write("a.yaml", "pod a 2")
			r.remove("a.yaml~")
		},
		"truncate, later write": func(r *rig) {
			r.must(os.Truncate(r.path("a.yaml"), 0))
			r.wait("a.yaml pod a 1 ~Empty")
			r.write("a.yaml", "pod a 2")
		},
		"half, later all": func(r *rig) {
			r.write("a.yaml", "po")
			r.wait("a.yaml pod a 1 ~InvalidYAML")
			r.write("a.yaml", "pod a 2")
		},
		"away, later new": func(r *rig) {
			r.rename("a.yaml", "a.bak")
			r.wait("a.yaml pod a 1 ?Removed")
			r.write("a.yaml", "pod a 2")
		},
		"hidden and rename": func(r *rig) { r.put("a.yaml", "pod a 2") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a.yaml": "pod a 1"}, func(c *FileConfig) { c.RemovalDelay = time.Second })
			r.wait("a.yaml pod a 1")
			save(r)
			r.wait("a.yaml pod a 2")
			r.settled()
			r.always("a")
		})
	}
}

func TestRenamedAwayAndBack(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1"}, func(c *FileConfig) { c.RemovalDelay = time.Second })
	before := r.wait("a.yaml pod a 1").Documents[0]
	r.rename("a.yaml", "a.tmp")
	r.wait("a.yaml pod a 1 ?Removed")
	r.rename("a.tmp", "a.yaml")
	after := r.wait("a.yaml pod a 1").Documents[0]
	if after.Changed != before.Changed {
		t.Error("counted as an edit")
	}
	r.settled()
	r.always("a")
}

// Broken edits: the good copy stands, also over a restart, and the repaired
// file is picked up.
func TestLastGoodCopyStands(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		spoil      func(r *rig)
	}{
		{"does not parse", "a.yaml pod a 1 ~InvalidYAML", func(r *rig) { r.put("a.yaml", "bad") }},
		{"does not parse, name known", "a.yaml pod a 1 ~InvalidYAML", func(r *rig) { r.put("a.yaml", "bad a") }},
		{"mistyped kind", "a.yaml pod a 1 ~UnsupportedKind", func(r *rig) { r.put("a.yaml", "service a") }},
		{"empty", "a.yaml pod a 1 ~Empty", func(r *rig) { r.must(os.Truncate(r.path("a.yaml"), 0)) }},
		{"chmod 000", "a.yaml pod a 1 ~Unreadable", func(r *rig) { r.must(os.Chmod(r.path("a.yaml"), 0)) }},
		{"directory instead", "a.yaml pod a 1 ~NotAFile", func(r *rig) { r.remove("a.yaml"); r.must(os.Mkdir(r.path("a.yaml"), 0o755)) }},
		{"FIFO instead", "a.yaml pod a 1 ~NotAFile", func(r *rig) { r.remove("a.yaml"); r.must(unix.Mkfifo(r.path("a.yaml"), 0o644)) }},
		{"dangling link instead", "a.yaml pod a 1 ~Unreadable", func(r *rig) { r.remove("a.yaml"); r.must(os.Symlink("nowhere", r.path("a.yaml"))) }},
		{"link loop instead", "a.yaml pod a 1 ~Unreadable", func(r *rig) { r.remove("a.yaml"); r.must(os.Symlink("a.yaml", r.path("a.yaml"))) }},
		{"renamed and bad", "b.yaml pod a 1 ~InvalidYAML", func(r *rig) {
			r.put("a.yaml", "bad")
			r.wait("a.yaml pod a 1 ~InvalidYAML")
			r.rename("a.yaml", "b.yaml")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a.yaml": "pod a 1"})
			r.wait("a.yaml pod a 1")
			tc.spoil(r)
			u := r.wait(tc.want)
			if u.Clean {
				t.Error("the update is called clean")
			}
			r.settled()
			bad := r.wait(tc.want).Documents[0].Changed
			r.always("a")
			r.restart(func() {})
			if now := r.wait(tc.want).Documents[0].Changed; now != bad {
				t.Errorf("went bad at %d, after the restart at %d", bad, now)
			}
			for _, name := range []string{"a.yaml", "b.yaml"} {
				r.must(os.RemoveAll(r.path(name)))
			}
			r.put("a.yaml", "pod a 2")
			r.waitFor("the repaired file", func(u Update) bool {
				return len(u.Documents) == 1 && tell(u.Documents[0]) == "a.yaml pod a 2"
			})
		})
	}
}

func TestSpoiledWhileDownAndRenamedWhileDown(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1", "b.yaml": "pod b 1"})
	r.wait("a.yaml pod a 1", "b.yaml pod b 1")
	r.restart(func() { r.put("a.yaml", "bad"); r.remove("b.yaml") })
	r.wait("a.yaml pod a 1 ~InvalidYAML", "b.yaml pod b 1 ?Removed")
	r.wait("a.yaml pod a 1 ~InvalidYAML")
	r.restart(func() { r.rename("a.yaml", "c.yaml") })
	r.wait("c.yaml pod a 1 ~InvalidYAML")
}

func TestBadFromTheStart(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "bad", "b.yaml": "pod b 1"})
	if u := r.wait("a.yaml !InvalidYAML", "b.yaml pod b 1"); u.Clean {
		t.Error("called clean")
	}
	r.put("a.yaml", "pod a 1")
	if u := r.wait("a.yaml pod a 1", "b.yaml pod b 1"); !u.Clean {
		t.Error("not called clean")
	}
}

func TestBadFileWithoutACopyGoesAtOnce(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "bad"}, func(c *FileConfig) { c.RemovalDelay = time.Hour })
	r.wait("a.yaml !InvalidYAML")
	r.remove("a.yaml")
	r.wait()
}

func TestOneBadDocumentFreezesTheRemovalsOfItsFile(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1\n---\npod b 1\n---\npod c 1"})
	r.wait("a.yaml pod a 1", "a.yaml pod b 1", "a.yaml pod c 1")
	// a is edited, b is broken at its place, c is taken out, d is new.
	r.put("a.yaml", "pod a 2\n---\nbad\n---\npod d 1")
	frozen := []string{"a.yaml pod a 2", "a.yaml pod b 1 ~InvalidYAML", "a.yaml pod d 1", "a.yaml pod c 1 ?FileRejected"}
	r.wait(frozen...)
	r.settled()
	r.wait(frozen...)
	r.restart(func() {})
	r.wait(frozen...)
	r.put("a.yaml", "pod a 2\n---\npod b 2")
	r.wait("a.yaml pod a 2", "a.yaml pod b 2")
}

func TestUnsupportedKindsFreezeNothing(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1\n---\npod b 1"})
	r.wait("a.yaml pod a 1", "a.yaml pod b 1")
	r.put("a.yaml", "pod a 1\n---\nservice web")
	r.wait("a.yaml pod a 1", "a.yaml !UnsupportedKind")
}

func TestSpecialFilesBlockNothing(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1"}, func(c *FileConfig) {
		for _, err := range []error{
			unix.Mkfifo(filepath.Join(c.Path, "fifo.yaml"), 0o644),
			os.Mkdir(filepath.Join(c.Path, "dir.yaml"), 0o755),
			os.Mkdir(filepath.Join(c.Path, "sub"), 0o755),
			os.WriteFile(filepath.Join(c.Path, "sub", "x.yaml"), []byte("pod x 1"), 0o644),
			os.Symlink("/dev/zero", filepath.Join(c.Path, "zero.yaml")),
			unix.Mknod(filepath.Join(c.Path, "sock.yaml"), syscall.S_IFSOCK|0o644, 0),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	want := []string{"a.yaml pod a 1", "dir.yaml !NotAFile", "fifo.yaml !NotAFile", "sock.yaml !NotAFile", "zero.yaml !NotAFile"}
	r.wait(want...)
	r.put("b.yaml", "pod b 1")
	r.wait(append([]string{want[0], "b.yaml pod b 1"}, want[1:]...)...)
}

func TestOversizedFileIsCutBeforeDecoding(t *testing.T) {
	r := newRig(t, nil, func(c *FileConfig) {
		if err := os.WriteFile(filepath.Join(c.Path, "big.yaml"), []byte("pod big "+strings.Repeat("x", maxManifest+5)), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	u := r.waitFor("the big file", func(u Update) bool { return len(u.Documents) == 1 })
	if n := len(u.Documents[0].Doc.Pod().Spec.Hostname); n != maxManifest-len("pod big ") {
		t.Errorf("decoded %d bytes", n)
	}
}

func TestAtomicWriterOfKubernetesIsSeen(t *testing.T) {
	r := newRig(t, nil, func(c *FileConfig) {
		for v, text := range map[string]string{"..v1": "pod a 1", "..v2": "pod a 2"} {
			if err := os.Mkdir(filepath.Join(c.Path, v), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(c.Path, v, "web.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for link, to := range map[string]string{"..data": "..v1", "web.yaml": "..data/web.yaml"} {
			if err := os.Symlink(to, filepath.Join(c.Path, link)); err != nil {
				t.Fatal(err)
			}
		}
	})
	r.wait("web.yaml pod a 1")
	r.must(os.Symlink("..v2", r.path("..tmp")))
	r.rename("..tmp", "..data")
	r.wait("web.yaml pod a 2")
	r.always("a")
}

func TestEditOfALinkTargetIsSeen(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "target.yaml")
	if err := os.WriteFile(elsewhere, []byte("pod a 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil, func(c *FileConfig) { _ = os.Symlink(elsewhere, filepath.Join(c.Path, "a.yaml")) })
	r.wait("a.yaml pod a 1")
	r.must(os.WriteFile(elsewhere, []byte("pod a 2"), 0o644))
	r.wait("a.yaml pod a 2")
}

func TestLinkWhoseTargetComesLaterIsFoundByThePoll(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "not-yet", "target.yaml")
	r := newRig(t, nil, func(c *FileConfig) {
		c.Poll = 20 * time.Millisecond
		_ = os.Symlink(elsewhere, filepath.Join(c.Path, "a.yaml"))
	})
	r.wait("a.yaml !Unreadable")
	r.must(os.Mkdir(filepath.Dir(elsewhere), 0o755))
	r.must(os.WriteFile(elsewhere, []byte("pod a 1"), 0o644))
	r.wait("a.yaml pod a 1")
}

func TestEverythingIsFoundByPollingAlone(t *testing.T) {
	r := newRig(t, nil, func(c *FileConfig) { c.Poll, c.Quiet, c.MaxWait = 20*time.Millisecond, time.Hour, time.Hour })
	r.wait()
	r.put("a.yaml", "pod a 1")
	r.wait("a.yaml pod a 1")
	r.remove("a.yaml")
	r.wait()
}

func TestWritableByOthers(t *testing.T) {
	open := func(c *FileConfig) { _ = os.Chmod(c.Path, 0o777) }
	r := newRig(t, map[string]string{"a.yaml": "pod a 1"}, open)
	r.wait("a.yaml pod a 1")
	r.settled()
	if n := r.log.count("may be written by others"); n != 1 {
		t.Errorf("warned %d times", n)
	}

	r = newRig(t, map[string]string{"a.yaml": "pod a 1"}, func(c *FileConfig) { c.StrictPermissions = true })
	r.wait("a.yaml pod a 1")
	r.must(os.Chmod(r.dir, 0o777))
	u := r.wait("a.yaml pod a 1 ?WritableByOthers")
	if u.Clean || !strings.Contains(u.Message, "chmod") {
		t.Errorf("clean %v, message %q", u.Clean, u.Message)
	}
	r.must(os.Chmod(r.dir, 0o755))
	r.wait("a.yaml pod a 1")
}

func TestForgetAndRunEndWithTheirContext(t *testing.T) {
	r := newRig(t, nil)
	r.wait()
	r.stop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.file.Forget(ctx); err == nil {
		t.Error("forget without a run")
	}
}
