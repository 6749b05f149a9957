package images

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

const (
	// ExampleRef is the name of the example image. Its domain does not exist:
	// nothing can pull something else under this name.
	ExampleRef = "islet.local/example:1"

	digestLabel = "islet.local.content"
)

// busyboxPaths is where busybox lies on the systems known to us.
var busyboxPaths = []string{"/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"}

// Example is a root file system, ready for import.
type Example struct {
	tar    []byte
	digest string
}

// FindBusybox returns the path of a statically linked busybox.
func FindBusybox() (string, error) {
	var dynamic string
	for _, p := range busyboxPaths {
		static, err := isStatic(p)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("read %s: %w", p, err)
		case static:
			return p, nil
		default:
			dynamic = p
		}
	}
	if dynamic != "" {
		return "", fmt.Errorf("find busybox: %s needs shared libraries; install the package busybox-static", dynamic)
	}
	return "", errors.New("find busybox: not found; install the package busybox-static")
}

func isStatic(file string) (bool, error) {
	f, err := elf.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false, nil
		}
	}
	return true, nil
}

// NewExample packs the busybox at file. It runs it once to learn its applets.
func NewExample(ctx context.Context, file string) (*Example, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read busybox: %w", err)
	}
	list, err := exec.CommandContext(ctx, file, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list applets of %s: %w", file, err)
	}
	data, err := rootFS(binary, strings.Fields(string(list)))
	if err != nil {
		return nil, fmt.Errorf("pack image: %w", err)
	}
	sum := sha256.Sum256(data)
	return &Example{tar: data, digest: hex.EncodeToString(sum[:])}, nil
}

// rootFS returns a tar archive whose bytes depend on the arguments alone.
func rootFS(busybox []byte, applets []string) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	add := func(h tar.Header, data string) error {
		h.ModTime = time.Unix(0, 0)
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := io.WriteString(w, data)
		return err
	}
	dir := func(name string, mode int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}
	}
	file := func(name string, mode int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}
	}
	type entry struct {
		header tar.Header
		data   string
	}
	entries := []entry{
		{dir("bin", 0o755), ""},
		{dir("etc", 0o755), ""},
		{dir("root", 0o700), ""},
		{dir("tmp", 0o1777), ""},
		{dir("var", 0o755), ""},
		{file("etc/passwd", 0o644), "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"},
		{file("etc/group", 0o644), "root:x:0:\nnogroup:x:65534:\n"},
		{file("bin/busybox", 0o755), string(busybox)},
	}
	for _, a := range applets {
		if a == "busybox" || a != path.Base(a) {
			continue
		}
		link := tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + a, Linkname: "busybox", Mode: 0o777}
		entries = append(entries, entry{link, ""})
	}
	for _, e := range entries {
		if err := add(e.header, e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Import gives the image to the engine under [ExampleRef]. It reports whether
// anything had to be done.
func (e *Example) Import(ctx context.Context, docker *client.Client) (bool, error) {
	have, err := docker.ImageInspect(ctx, ExampleRef)
	switch {
	case errdefs.IsNotFound(err):
	case err != nil:
		return false, fmt.Errorf("inspect image %s: %w", ExampleRef, err)
	case have.Config != nil && have.Config.Labels[digestLabel] == e.digest:
		return false, nil
	}
	body, err := docker.ImageImport(ctx,
		image.ImportSource{Source: bytes.NewReader(e.tar), SourceName: "-"}, ExampleRef,
		image.ImportOptions{Changes: []string{
			"ENV PATH=/bin",
			`CMD ["sh"]`,
			"LABEL " + digestLabel + "=" + e.digest,
		}})
	if err != nil {
		return false, fmt.Errorf("import image %s: %w", ExampleRef, err)
	}
	defer body.Close()
	answer, err := io.ReadAll(body)
	if err != nil {
		return false, fmt.Errorf("import image %s: %w", ExampleRef, err)
	}
	// A failure comes in the stream, after the 200; so look whether it is there.
	if _, err := docker.ImageInspect(ctx, ExampleRef); err != nil {
		return false, fmt.Errorf("import image %s: the engine said %s", ExampleRef, bytes.TrimSpace(answer))
	}
	return true, nil
}
