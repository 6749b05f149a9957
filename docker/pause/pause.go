package pause

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
)

// Repository is the name of the image without its tag. It has no registry part,
// so nothing ever pulls or pushes it.
const Repository = "islet-pause"

// user is what the program runs as: no passwd entry, no rights.
const user = "65535:65535"

// Image is the pause image in the form `docker load` takes.
type Image struct {
	// Ref is the tag the image is loaded under: islet-pause:<12 hex digits of
	// the digest of its configuration>.
	Ref string
	// Archive is a docker-archive tar stream. It is shared: do not change it.
	Archive []byte
}

// Load returns the image for the architecture islet was built for, or an error
// that names the way out when no program is built in for it.
var Load = sync.OnceValues(func() (Image, error) {
	if len(program) == 0 {
		return Image{}, fmt.Errorf("no pause program is built in for %s: name an image that has one with --pod-infra-container-image", runtime.GOARCH)
	}
	return build(program, runtime.GOARCH)
})

type imageConfig struct {
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	Created      string          `json:"created"`
	Config       containerConfig `json:"config"`
	RootFS       rootFS          `json:"rootfs"`
	History      []history       `json:"history"`
}

type containerConfig struct {
	Entrypoint []string `json:"Entrypoint"`
	User       string   `json:"User"`
	WorkingDir string   `json:"WorkingDir"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

type manifest struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// build makes the archive. Its bytes depend on nothing but the arguments.
func build(program []byte, arch string) (Image, error) {
	layer, err := archive(file{"pause", 0o755, program})
	if err != nil {
		return Image{}, fmt.Errorf("build layer of pause image: %w", err)
	}
	const epoch = "1970-01-01T00:00:00Z"
	config, err := json.Marshal(imageConfig{
		Architecture: arch,
		OS:           "linux",
		Created:      epoch,
		Config:       containerConfig{Entrypoint: []string{"/pause"}, User: user, WorkingDir: "/"},
		RootFS:       rootFS{Type: "layers", DiffIDs: []string{"sha256:" + hexDigest(layer)}},
		History:      []history{{Created: epoch, CreatedBy: "islet"}},
	})
	if err != nil {
		return Image{}, fmt.Errorf("encode configuration of pause image: %w", err)
	}
	digest := hexDigest(config)
	ref := Repository + ":" + digest[:12]
	index, err := json.Marshal([]manifest{{Config: digest + ".json", RepoTags: []string{ref}, Layers: []string{"layer.tar"}}})
	if err != nil {
		return Image{}, fmt.Errorf("encode manifest of pause image: %w", err)
	}
	image, err := archive(
		file{digest + ".json", 0o644, config},
		file{"layer.tar", 0o644, layer},
		file{"manifest.json", 0o644, index},
	)
	if err != nil {
		return Image{}, fmt.Errorf("build pause image: %w", err)
	}
	return Image{Ref: ref, Archive: image}, nil
}

type file struct {
	name string
	mode int64
	data []byte
}

func archive(files ...file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
