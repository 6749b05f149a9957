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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// builtWith is the compiler the checked-in binary came from. The same compiler
// must give the same bytes; another one must give a program that behaves alike.
const builtWith = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0"

func TestBinaryMatchesSource(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc here")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make here")
	}
	out := filepath.Join(t.TempDir(), "pause")
	build := exec.Command("make", "-s", "CC="+gcc, "ARCH=amd64", "OUT="+out)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, text)
	}
	rebuilt, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(gcc, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(version), "\n")
	if bytes.Equal(rebuilt, program) {
		return
	}
	if first == builtWith {
		t.Fatal("pause-amd64 does not come from pause.c: run make in docker/pause")
	}
	t.Logf("built with %s, checked in from %s: comparing behaviour", first, builtWith)
	behaves(t, out)
}

func TestProgramBehaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	behaves(t, path)
}

// behaves checks that the program ends at once, with 0, on TERM and INT, stays
// on other signals it blocks, and stays when nothing happens.
func behaves(t *testing.T, path string) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd := exec.Command(path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		waitAsleep(t, cmd.Process.Pid)
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

// waitAsleep waits until the process sleeps, which it does only once it has
// blocked its signals: before that, a signal would end it in the ordinary way
// and prove nothing.
func waitAsleep(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(status, []byte("State:\tS")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d never went to sleep", pid)
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
