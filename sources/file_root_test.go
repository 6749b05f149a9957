package sources

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func (r *rig) moveDirAway() string {
	r.t.Helper()
	away := r.dir + ".away"
	r.must(os.Rename(r.dir, away))
	return away
}

func TestDirectoryMissingAtStart(t *testing.T) {
	r := newRig(t, nil, func(c *FileConfig) {
		c.Path = filepath.Join(c.Path, "not", "yet")
	})
	u := r.wait()
	if u.Clean || !strings.Contains(u.Message, "does not exist") {
		t.Errorf("clean %v, message %q", u.Clean, u.Message)
	}
	r.dir = r.cfg.Path
	r.must(os.MkdirAll(r.dir, 0o755))
	r.waitFor("no message", func(u Update) bool { return u.Message == "" && u.Clean })
	r.put("a.yaml", "pod a 1")
	r.wait("a.yaml pod a 1")
}

func TestVanishedDirectoryIsHeld(t *testing.T) {
	for name, vanish := range map[string]func(r *rig) (back func()){
		"renamed away": func(r *rig) func() {
			away := r.moveDirAway()
			return func() { r.must(os.Rename(away, r.dir)) }
		},
		"deleted": func(r *rig) func() {
			r.must(os.RemoveAll(r.dir))
			return func() { r.must(os.Mkdir(r.dir, 0o755)); r.put("a.yaml", "pod a 1"); r.put("b.yaml", "bad") }
		},
		"no read permission": func(r *rig) func() {
			r.must(os.Chmod(r.dir, 0))
			return func() { r.must(os.Chmod(r.dir, 0o755)) }
		},
		"a file instead": func(r *rig) func() {
			away := r.moveDirAway()
			r.must(os.WriteFile(r.dir, []byte("bad"), 0o644))
			return func() { r.remove(""); r.must(os.Rename(away, r.dir)) }
		},
		"another, empty": func(r *rig) func() {
			away := r.moveDirAway()
			r.must(os.Mkdir(r.dir, 0o755))
			return func() { r.must(os.Remove(r.dir)); r.must(os.Rename(away, r.dir)) }
		},
		"another, with nothing good": func(r *rig) func() {
			away := r.moveDirAway()
			r.must(os.Mkdir(r.dir, 0o755))
			r.put("c.yaml", "bad")
			return func() { r.must(os.RemoveAll(r.dir)); r.must(os.Rename(away, r.dir)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a.yaml": "pod a 1", "b.yaml": "bad"})
			r.wait("a.yaml pod a 1", "b.yaml !InvalidYAML")
			back := vanish(r)
			held := func(u Update) bool {
				return u.Message != "" && !u.Clean && slices.ContainsFunc(u.Documents, func(d Document) bool { return d.Held && d.Doc.Name == "a" })
			}
			r.waitFor("a hold", held)
			r.restart(func() {})
			r.waitFor("a hold after the restart", held)
			r.always("a")
			back()
			u := r.wait("a.yaml pod a 1", "b.yaml !InvalidYAML")
			if u.Message != "" {
				t.Errorf("message stays: %s", u.Message)
			}
			r.settled()
			r.always("a")
		})
	}
}

func TestSuccessorWithAnAcceptedDocumentEndsTheHold(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1", "b.yaml": "pod b 1"})
	r.wait("a.yaml pod a 1", "b.yaml pod b 1")
	r.must(os.RemoveAll(r.dir))
	r.wait("a.yaml pod a 1 ?DirectoryMissing", "b.yaml pod b 1 ?DirectoryMissing")
	r.must(os.Mkdir(r.dir, 0o755))
	r.put("a.yaml", "pod a 2")
	r.wait("a.yaml pod a 2")
}

func TestEmptiedDirectoryIsMeant(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1", "b.yaml": "pod b 1"})
	r.wait("a.yaml pod a 1", "b.yaml pod b 1")
	r.remove("a.yaml")
	r.remove("b.yaml")
	if u := r.wait(); !u.Clean {
		t.Error("not clean")
	}
	r.restart(func() {})
	r.wait()
}

func TestForgetEndsTheHold(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1"})
	r.wait("a.yaml pod a 1")
	away := r.moveDirAway()
	r.wait("a.yaml pod a 1 ?DirectoryMissing")
	r.must(r.file.Forget(context.Background()))
	r.wait()
	r.restart(func() {})
	r.wait()
	r.must(os.Rename(away, r.dir))
	r.wait("a.yaml pod a 1")
}

func TestUnmountedDirectoryIsHeld(t *testing.T) {
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "a.yaml"), []byte("pod a 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	mounted := false
	r := newRig(t, nil, func(c *FileConfig) {
		if err := syscall.Mount(other, c.Path, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("cannot mount here: %v", err)
		}
		mounted = true
	})
	t.Cleanup(func() {
		if mounted {
			_ = syscall.Unmount(r.dir, syscall.MNT_DETACH)
		}
	})
	r.wait("a.yaml pod a 1")
	r.restart(func() { // no event tells of an unmount: the poll, or a start, finds it
		r.must(syscall.Unmount(r.dir, 0))
		mounted = false
	})
	r.wait("a.yaml pod a 1 ?DirectoryReplaced")
	r.restart(func() { r.must(syscall.Mount(other, r.dir, "", syscall.MS_BIND, "")); mounted = true })
	r.wait("a.yaml pod a 1")
}

func TestAnotherPathIsTakenOverOnceRead(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1"})
	r.wait("a.yaml pod a 1")
	r.restart(func() { r.cfg.Path = r.dir + "2"; r.dir = r.cfg.Path })
	r.wait("a.yaml pod a 1 ?PathChanged")
	r.must(os.Mkdir(r.dir, 0o755))
	r.wait()
	r.restart(func() {})
	r.wait()
}

func TestLinkedDirectorySwapped(t *testing.T) {
	r := newRig(t, nil, func(c *FileConfig) {
		for v, text := range map[string]string{"v1": "pod a 1", "v2": "pod a 2"} {
			_ = os.MkdirAll(filepath.Join(c.Path, v), 0o755)
			_ = os.WriteFile(filepath.Join(c.Path, v, "a.yaml"), []byte(text), 0o644)
		}
		_ = os.Symlink("v1", filepath.Join(c.Path, "current"))
		c.Path = filepath.Join(c.Path, "current")
	})
	r.wait("a.yaml pod a 1")
	r.must(os.Symlink("v2", r.path("next")))
	r.rename("next", "current")
	r.wait("a.yaml pod a 2")
	r.always("a")
}

func newFileRig(t *testing.T) *rig {
	r := newRig(t, map[string]string{"one.conf": "pod a 1", "two.yaml": "pod b 1"}, func(c *FileConfig) {
		c.Path = filepath.Join(c.Path, "one.conf") // named outright: any name will do
	})
	r.wait("one.conf pod a 1")
	return r
}

func TestSingleFile(t *testing.T) {
	r := newFileRig(t)
	r.put("one.conf", "pod a 2\n---\npod c 1")
	r.wait("one.conf pod a 2", "one.conf pod c 1")
	r.write("one.conf", "bad")
	r.wait("one.conf pod a 2 ~InvalidYAML", "one.conf pod c 1 ?FileRejected")
	r.put("one.conf", "pod a 3")
	r.wait("one.conf pod a 3")
	r.always("a")
	r.remove("one.conf")
	r.wait("one.conf pod a 3 ?Removed")
	r.wait()
	r.put("one.conf", "pod a 4")
	r.wait("one.conf pod a 4")
}

func TestSingleFileDeletedWhileDown(t *testing.T) {
	r := newFileRig(t)
	r.restart(func() { r.remove("one.conf") })
	r.wait("one.conf pod a 1 ?Removed")
	r.wait()
}

func TestSingleFileWithItsDirectoryGoneIsHeld(t *testing.T) {
	r := newFileRig(t)
	away := r.moveDirAway()
	r.wait("one.conf pod a 1 ?DirectoryMissing")
	r.restart(func() {})
	r.wait("one.conf pod a 1 ?DirectoryMissing")
	r.must(os.Mkdir(r.dir, 0o755))
	r.wait("one.conf pod a 1 ?DirectoryMissing")
	r.must(os.Remove(r.dir))
	r.must(os.Rename(away, r.dir))
	r.wait("one.conf pod a 1")
}

func TestFromDirectoryToOneOfItsFiles(t *testing.T) {
	r := newRig(t, map[string]string{"a.yaml": "pod a 1", "b.yaml": "pod b 1"})
	r.wait("a.yaml pod a 1", "b.yaml pod b 1")
	r.restart(func() { r.put("a.yaml", "bad"); r.cfg.Path = r.path("a.yaml") })
	r.wait("a.yaml pod a 1 ~InvalidYAML", "b.yaml pod b 1 ?PathChanged")
	r.put("a.yaml", "pod a 2")
	r.wait("a.yaml pod a 2")
}
