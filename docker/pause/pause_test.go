package pause

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// builtWith is the compiler the checked-in binaries came from. The same compiler
// must give the same bytes; another one must give a program that behaves alike.
const builtWith = "(Debian 12.2.0-14"

// targets are the architectures that have a binary.
var targets = []struct {
	arch      string
	compilers []string // the first one that is there builds for it
	emulator  string   // runs it elsewhere
}{
	{"amd64", []string{"x86_64-linux-gnu-gcc"}, "qemu-x86_64-static"},
	{"arm64", []string{"aarch64-linux-gnu-gcc"}, "qemu-aarch64-static"},
}

func TestBinariesMatchSource(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make here")
	}
	for _, target := range targets {
		t.Run(target.arch, func(t *testing.T) {
			compilers := target.compilers
			if target.arch == runtime.GOARCH {
				compilers = append(compilers, "gcc")
			}
			compiler := ""
			for _, c := range compilers {
				if path, err := exec.LookPath(c); err == nil && compiler == "" {
					compiler = path
				}
			}
			if compiler == "" {
				t.Skipf("no compiler for %s here (%s)", target.arch, strings.Join(compilers, ", "))
			}
			matches(t, target.arch, compiler, target.emulator)
		})
	}
}

func matches(t *testing.T, arch, compiler, emulator string) {
	out := filepath.Join(t.TempDir(), "pause")
	build := exec.Command("make", "-s", "-B", "CC_"+arch+"="+compiler, "OUT="+out, "pause-"+arch)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, text)
	}
	rebuilt, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("pause-" + arch)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(rebuilt, kept) {
		return
	}
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	if strings.Contains(first, builtWith) {
		t.Fatalf("pause-%s does not come from pause.c: run make in docker/pause", arch)
	}
	t.Logf("built with %s, checked in from %s: comparing behaviour", first, builtWith)
	behaves(t, runner(t, arch, emulator, out))
}

func TestProgramsBehave(t *testing.T) {
	for _, target := range targets {
		t.Run(target.arch, func(t *testing.T) {
			behaves(t, runner(t, target.arch, target.emulator, "./pause-"+target.arch))
		})
	}
}

// runner is the command line that runs a program of an architecture here.
func runner(t *testing.T, arch, emulator, path string) []string {
	t.Helper()
	if arch == runtime.GOARCH {
		return []string{path}
	}
	found, err := exec.LookPath(emulator)
	if err != nil {
		t.Skipf("cannot run programs of %s here: %v", arch, err)
	}
	return []string{found, path}
}

// behaves checks that the program ends at once, with 0, on TERM and INT, stays
// on other signals it blocks, and stays when nothing happens.
func behaves(t *testing.T, command []string) {
	t.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := exec.Command(command[0], command[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		waitReady(t, cmd.Process.Pid)
		if err := cmd.Process.Signal(syscall.SIGCHLD); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("ended by SIGCHLD: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%v: ended with %v, want exit code 0", signal, err)
			}
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			t.Fatalf("%v: still running", signal)
		}
	}
}

// waitCall is the number of rt_sigtimedwait, with which the program (or its
// emulator) waits.
var waitCall = map[string]string{"amd64": "128 ", "arm64": "137 "}[runtime.GOARCH]

// waitReady waits until the process waits for its signals: before that, one
// would end it in the ordinary way and prove nothing.
func waitReady(t *testing.T, pid int) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	for deadline := time.Now().Add(10 * time.Second); ; {
		call, err := os.ReadFile(filepath.Join(dir, "syscall"))
		if err != nil { // this kernel does not tell
			call, err = os.ReadFile(filepath.Join(dir, "status"))
			if err == nil && bytes.Contains(call, []byte("State:\tS")) {
				return
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(call, []byte(waitCall)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not wait for signals: %s", pid, call)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestImage(t *testing.T) {
	first, err := build([]byte("program one"), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := build([]byte("program one"), "amd64")
	other, _ := build([]byte("program two"), "amd64")
	if first.Ref != again.Ref || !bytes.Equal(first.Archive, again.Archive) {
		t.Error("the same program gives two images")
	}
	if first.Ref == other.Ref {
		t.Error("two programs share a tag")
	}
	names := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(first.Archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if names[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var index []manifest
	if err := json.Unmarshal(names["manifest.json"], &index); err != nil || len(index) != 1 {
		t.Fatalf("manifest.json: %v, %d entries", err, len(index))
	}
	var config imageConfig
	if err := json.Unmarshal(names[index[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if got, want := config.RootFS.DiffIDs[0], "sha256:"+hexDigest(names[index[0].Layers[0]]); got != want {
		t.Errorf("diff id %s, layer is %s", got, want)
	}
	if config.Config.User != "65535:65535" || config.Config.Entrypoint[0] != "/pause" {
		t.Errorf("configuration %+v", config.Config)
	}
}

func TestLoad(t *testing.T) {
	image, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(image.Ref, "islet-pause:") || len(image.Ref) != len("islet-pause:")+12 {
		t.Errorf("ref %q", image.Ref)
	}
}
