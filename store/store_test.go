package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

type value struct {
	Version int    `json:"version"`
	Text    string `json:"text"`
}

func openAt(t *testing.T, root string) *Store {
	t.Helper()
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func reopen(t *testing.T, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openAt(t, s.Root())
}

func TestOpenMakesAPrivateTreeWithAnOwner(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	s := openAt(t, filepath.Join(t.TempDir(), "a", "b"))
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(s.Owner()) || !s.Fresh() {
		t.Errorf("owner %q, fresh %v", s.Owner(), s.Fresh())
	}
	if err := s.Collection("events").Put("x", value{}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutInstance("uid-1", value{}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	again := reopen(t, s)
	if again.Owner() != s.Owner() || again.Fresh() {
		t.Errorf("owner %q became %q (fresh %v)", s.Owner(), again.Owner(), again.Fresh())
	}
	if again.KeyedDigest("x") != s.KeyedDigest("x") || s.KeyedDigest("x") == s.KeyedDigest("y") || s.KeyedDigest("") != "" {
		t.Error("keyed digest is not a stable digest")
	}
}

func TestOpenClosesTheRootToOthersOnlyWhenItIsOurs(t *testing.T) {
	ours := filepath.Join(t.TempDir(), "root")
	s := openAt(t, ours)
	if err := os.Chmod(ours, 0o755); err != nil {
		t.Fatal(err)
	}
	reopen(t, s)
	if info, err := os.Stat(ours); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("root is %v, %v", info.Mode(), err)
	}

	foreign := t.TempDir()
	if err := os.Chmod(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "passwd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(foreign)
	if err == nil || !strings.Contains(err.Error(), "passwd") {
		t.Errorf("open of a foreign directory: %v", err)
	}
	if info, _ := os.Stat(foreign); info.Mode().Perm() != 0o755 {
		t.Errorf("a foreign directory was changed to %v", info.Mode())
	}
}

func TestOwnerCanBeTakenOver(t *testing.T) {
	s := openAt(t, t.TempDir())
	if err := s.SetOwner("nonsense"); err == nil {
		t.Error("a bad owner was accepted")
	}
	id := strings.Repeat("0a", 16)
	if err := s.SetOwner(id); err != nil {
		t.Fatal(err)
	}
	if again := reopen(t, s); again.Owner() != id {
		t.Errorf("owner is %q", again.Owner())
	}
}

func TestBrokenOwnerIsQuarantinedAndMadeAnew(t *testing.T) {
	s := openAt(t, t.TempDir())
	if err := os.WriteFile(s.Path("owner"), []byte("??"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, s)
	if !again.Fresh() || !isHex(again.Owner(), 32) || again.Owner() == s.Owner() {
		t.Errorf("owner %q, fresh %v", again.Owner(), again.Fresh())
	}
	if q := again.Quarantined(); len(q) != 1 || !exists(q[0].Moved) {
		t.Errorf("quarantined: %v", q)
	}
}

func TestLockAdmitsOneAndNamesTheHolder(t *testing.T) {
	if root := os.Getenv("STORE_TEST_ROOT"); root != "" {
		_, err := Open(root)
		fmt.Println(err)
		os.Exit(0)
	}
	root := t.TempDir()
	s := openAt(t, root)
	_, err := Open(root)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("second open in this process: %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockAdmitsOneAndNamesTheHolder$")
	cmd.Env = append(os.Environ(), "STORE_TEST_ROOT="+root)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{root, strconv.Itoa(os.Getpid()), "--root-dir"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("second process says %q, without %q", out, want)
		}
	}
	reopen(t, s)
}

func TestValuesOfAnyNameComeBack(t *testing.T) {
	s := openAt(t, t.TempDir())
	c := s.Collection("documents/file")
	names := []string{"", ".", "..", "a", "A", "/etc/kubernetes/manifests/web.yaml", "a%2Fb", "a/b", "ä\x00\n", "~",
		strings.Repeat("x", 300), strings.Repeat("x", 301), strings.Repeat("/", 100), ".tmp-x", "x.json"}
	for i, name := range names {
		if err := c.Put(name, value{Version: i}); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
	s = reopen(t, s)
	c = s.Collection("documents/file")
	for i, name := range names {
		var v value
		if err := c.Get(name, &v); err != nil || v.Version != i {
			t.Errorf("%q: got %v, %v", name, v, err)
		}
	}
	listed, bad, err := c.List()
	slices.Sort(names)
	if err != nil || len(bad) > 0 || !slices.Equal(listed, names) {
		t.Errorf("list: %q, %v, %v", listed, bad, err)
	}
	for _, name := range names {
		if err := errors.Join(c.Delete(name), c.Delete(name)); err != nil {
			t.Errorf("delete %q: %v", name, err)
		}
		if err := c.Get(name, &value{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q after delete: %v", name, err)
		}
	}
}

func TestUnreadableValuesAreQuarantinedAndTheOthersUsed(t *testing.T) {
	s := openAt(t, t.TempDir())
	c := s.Collection("identities")
	for _, name := range []string{"good", "cut", "empty", "swapped", "refused", "fifo", "null"} {
		if err := c.Put(name, value{Text: name}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(c.File(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cut", `{"name":"cut","value":{"vers`)
	write("empty", "")
	write("null", "null")
	write("swapped", `{"name":"good","value":{}}`)
	if err := errors.Join(os.Remove(c.File("fifo")), syscall.Mkfifo(c.File("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var used []string
	bad, err := c.Each(func(name string, _ []byte) error {
		if name == "refused" {
			return errors.New("from the future")
		}
		used = append(used, name)
		return nil
	})
	if err != nil || !slices.Equal(used, []string{"good"}) || len(bad) != 6 {
		t.Fatalf("used %q, bad %v, %v", used, bad, err)
	}
	for _, b := range bad {
		if filepath.Dir(b.Moved) != s.Path("quarantine") || !exists(b.Moved) || exists(b.File) {
			t.Errorf("not moved: %v", b)
		}
	}
	if len(s.Quarantined()) != 6 {
		t.Errorf("remembered %d", len(s.Quarantined()))
	}
	// Again: the earlier copy in quarantine is not overwritten.
	if err := c.Put("cut", value{}); err != nil {
		t.Fatal(err)
	}
	write("cut", "x")
	var corrupt *CorruptError
	if err := c.Get("cut", &value{}); !errors.As(err, &corrupt) || corrupt.Moved == bad[0].Moved || !exists(bad[0].Moved) {
		t.Errorf("got %v", err)
	}
	if err := c.Get("cut", &value{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("after quarantine: %v", err)
	}
}

// TestCrashAtEveryStep stops the disk after each step of a replacement; the
// next start finds the old or the new value, whole, and no leftovers.
func TestCrashAtEveryStep(t *testing.T) {
	for _, many := range []int{0, 3, 6} { // one; flushed one by one; flushed at once
		for _, stop := range []bool{false, true} {
			for step := 1; ; step++ {
				if crashAt(t, step, stop, many) {
					break
				}
			}
		}
	}
}

// crashAt reports whether the write has fewer than step steps.
func crashAt(t *testing.T, step int, stop bool, many int) (done bool) {
	t.Helper()
	d := &faultyDisk{disk: realDisk{}, half: true}
	s, err := open(t.TempDir(), d)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Collection("identities")
	if err := c.Put("a", value{Text: "old"}); err != nil {
		t.Fatal(err)
	}
	d.steps, d.failAt, d.stop = nil, step, stop
	s.flushAllFrom = 5
	if many > 0 {
		values := map[string]any{"a": value{Text: "new"}}
		for i := range many {
			values[strconv.Itoa(i)] = value{Text: "new"}
		}
		err = c.PutAll(values)
	} else {
		err = c.Put("a", value{Text: "new"})
	}
	done = len(d.steps) < step
	if (err == nil) != done {
		t.Errorf("step %d of %v: error %v", step, d.steps, err)
	}
	s = reopen(t, s)
	c = s.Collection("identities")
	var v value
	getErr := c.Get("a", &v)
	if getErr != nil || v.Text != "old" && v.Text != "new" || err == nil && v.Text != "new" {
		t.Errorf("step %d: value %q, %v after %v", step, v.Text, getErr, err)
	}
	entries, _ := os.ReadDir(s.Path("identities"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			t.Errorf("step %d: leftover %s", step, e.Name())
		}
	}
	if _, bad, err := c.List(); err != nil || len(bad) > 0 {
		t.Errorf("step %d: %v %v", step, bad, err)
	}
	return done || step > 100
}

func TestPodDirectories(t *testing.T) {
	s := openAt(t, t.TempDir())
	if err := s.GetInstance("u1", &value{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of nothing: %v", err)
	}
	if err := errors.Join(s.PutInstance("u1", value{Text: "1"}), s.PutInstance("u1", value{Text: "2"}), s.PutInstance("u2", value{})); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.PodDir("u1"), "volumes", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.Path("pods", gonePrefix+"u0", "volumes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.PodDir("u1"), tempPrefix+"1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.PodDir("u1"), "volumes", "x", tempPrefix+"users"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	if exists(s.Path("pods", gonePrefix+"u0")) || exists(filepath.Join(s.PodDir("u1"), tempPrefix+"1")) {
		t.Error("leftovers are there")
	}
	if !exists(filepath.Join(s.PodDir("u1"), "volumes", "x", tempPrefix+"users")) {
		t.Error("a file of a volume was removed")
	}
	var v value
	if err := s.GetInstance("u1", &v); err != nil || v.Text != "2" {
		t.Errorf("got %v, %v", v, err)
	}
	if uids, err := s.Pods(); err != nil || !slices.Equal(uids, []string{"u1", "u2"}) {
		t.Errorf("pods %v, %v", uids, err)
	}
	if err := os.WriteFile(filepath.Join(s.PodDir("u2"), "instance.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if err := s.GetInstance("u2", &v); !errors.As(err, &corrupt) {
		t.Errorf("broken instance: %v", err)
	}
	if err := errors.Join(s.ErasePod("u1"), s.ErasePod("u1"), s.ErasePod("u2")); err != nil {
		t.Fatal(err)
	}
	if uids, _ := s.Pods(); len(uids) != 0 {
		t.Errorf("pods %v", uids)
	}
}

func TestEraseNeverCrossesAMount(t *testing.T) {
	s := openAt(t, t.TempDir())
	if err := s.PutInstance("u1", value{}); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	point := filepath.Join(s.PodDir("u1"), "volumes", "a b\\c")
	if err := os.MkdirAll(point, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(outside, point, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	mounted := true
	t.Cleanup(func() {
		if mounted {
			_ = syscall.Unmount(point, syscall.MNT_DETACH)
		}
	})
	err := s.ErasePod("u1")
	var m *MountedError
	if !errors.As(err, &m) || !slices.Equal(m.Mounts, []string{point}) {
		t.Errorf("erase: %v", err)
	}
	if !exists(precious) || !exists(s.PodDir("u1")) {
		t.Fatal("something was deleted")
	}
	if err := syscall.Unmount(point, 0); err != nil {
		t.Fatal(err)
	}
	mounted = false
	if err := s.ErasePod("u1"); err != nil || !exists(precious) {
		t.Errorf("erase after unmount: %v", err)
	}
}

func TestEraseSurvivesACrashAtEveryStep(t *testing.T) {
	for step := 1; step <= 4; step++ {
		d := &faultyDisk{disk: realDisk{}}
		s, err := open(t.TempDir(), d)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.PutInstance("u1", value{}); err != nil {
			t.Fatal(err)
		}
		d.steps, d.failAt, d.stop = nil, step, true
		err = s.ErasePod("u1")
		if (err == nil) != (len(d.steps) < step) {
			t.Errorf("step %d of %v: %v", step, d.steps, err)
		}
		s = reopen(t, s)
		if uids, _ := s.Pods(); len(uids) == 1 {
			if err := s.GetInstance("u1", &value{}); err != nil {
				t.Errorf("step %d: half an instance: %v", step, err)
			}
		}
	}
}

func TestUIDsFromOutside(t *testing.T) {
	for uid, want := range map[string]bool{
		"3c8e1c64-7b9e-4d0a-9f5e-0d6f5b1f2a3b": true, "abc": true,
		"": false, ".": false, "..": false, ".x": false, "a/b": false, "a\x00": false, strings.Repeat("a", 129): false,
	} {
		if ValidUID(uid) != want {
			t.Errorf("ValidUID(%q) = %v", uid, !want)
		}
	}
}

func FuzzReaders(f *testing.F) {
	f.Add([]byte(`{"name":"x","value":{"version":1}}`), "x")
	f.Add([]byte(`{"name":"x","value":null}`), "")
	f.Add([]byte("36 35 98:0 / /mnt\\040x rw - ext3 /dev/root rw\n"), "/mnt")
	s, err := Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	c := s.Collection("outcomes")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		file := fileName(name)
		if len(file) > 255 || strings.ContainsAny(file, "/\x00") || file[0] == '.' {
			t.Fatalf("name %q became %q", name, file)
		}
		if err := os.WriteFile(c.File(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		var v value
		err := c.Get(name, &v)
		var corrupt *CorruptError
		if err != nil && !errors.As(err, &corrupt) {
			t.Fatal(err)
		}
		if (err == nil) != exists(c.File(name)) {
			t.Fatalf("left in place: %v", err)
		}
		if err != nil {
			_ = os.Remove(corrupt.Moved)
		}
		_ = os.Remove(c.File(name))
		if _, err := mountsBelow(strings.NewReader(string(data)), "/"+name); err != nil && !strings.Contains(err.Error(), "token too long") {
			t.Fatal(err)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := s.Collection("identities")
	for b.Loop() {
		if err := c.Put("a", value{Text: strings.Repeat("x", 2000)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPutAll10000(b *testing.B) {
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := s.Collection("identities")
	values := map[string]any{}
	for i := range 10000 {
		values[strconv.Itoa(i)] = value{Text: strings.Repeat("x", 2000)}
	}
	for b.Loop() {
		if err := c.PutAll(values); err != nil {
			b.Fatal(err)
		}
	}
}
