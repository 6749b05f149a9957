package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// Busybox is the name of the image [Image] makes. Its registry does not exist:
// it is never pulled by mistake. The tag counts its versions.
const Busybox = "islet.test/busybox:1"

// applets are the commands the image has, as links to busybox.
var applets = []string{
	"sh", "[", "cat", "chmod", "cp", "date", "dd", "df", "echo", "env", "expr", "false", "grep", "head", "hostname",
	"httpd", "id", "ip", "kill", "ls", "md5sum", "mkdir", "mount", "mv", "nc", "nslookup", "ping", "printf", "ps",
	"pwd", "rm", "sed", "seq", "sleep", "stat", "sync", "tail", "test", "touch", "tr", "true", "uname", "vi", "wc",
	"wget", "whoami", "yes",
}

// gone reports whether something was removed already or is being removed.
func gone(err error) bool { return cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) }

// Image makes sure the engine has [Busybox], made from the machine's own static
// busybox without any registry, and returns its name. Without arguments the
// image runs a shell.
func Image(t testing.TB, api *client.Client) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := api.ImageInspect(ctx, Busybox)
	if err == nil {
		return Busybox
	}
	if !cerrdefs.IsNotFound(err) {
		t.Fatalf("inspect test image: %v", err)
	}
	layer, err := busyboxLayer()
	if err != nil {
		t.Fatalf("make test image: %v", err)
	}
	Import(t, api, Busybox, layer, `CMD ["/bin/sh"]`, `ENV PATH=/bin`, `WORKDIR /`)
	return Busybox
}

// Import makes a local image of one layer, given as a tar archive, with changes
// in the words of a Dockerfile.
func Import(t testing.TB, api *client.Client, ref string, layer []byte, changes ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	source := image.ImportSource{Source: bytes.NewReader(layer), SourceName: "-"}
	stream, err := api.ImageImport(ctx, source, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatalf("import image %s: %v", ref, err)
	}
	defer stream.Close()
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Fatalf("import image %s: %v", ref, err)
	}
	if _, err := api.ImageInspect(ctx, ref); err != nil {
		t.Fatalf("import image %s: %v", ref, err)
	}
}

// busyboxLayer is a root file system with busybox and its links.
func busyboxLayer() ([]byte, error) {
	program, err := staticBusybox()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []string{"bin/", "etc/", "tmp/", "root/"} {
		mode := int64(0o755)
		if dir == "tmp/" {
			mode = 0o1777
		}
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: mode}); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{
		"etc/passwd": []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"),
		"etc/group":  []byte("root:x:0:\nnobody:x:65534:\n"),
	}
	for _, name := range []string{"etc/passwd", "etc/group"} {
		if err := writeFile(w, name, 0o644, files[name]); err != nil {
			return nil, err
		}
	}
	if err := writeFile(w, "bin/busybox", 0o755, program); err != nil {
		return nil, err
	}
	for _, name := range applets {
		if err := w.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox"}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeFile(w *tar.Writer, name string, mode int64, data []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// staticBusybox reads the machine's busybox and makes sure it runs by itself.
func staticBusybox() ([]byte, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("find busybox: %w (Debian has it in busybox-static)", err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	binary, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("use %s: it is not static (Debian has a static one in busybox-static)", path)
		}
	}
	return program, nil
}
