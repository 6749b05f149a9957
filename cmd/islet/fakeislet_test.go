package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/islet-run/islet/httpapi"
	"github.com/islet-run/islet/pods"
	"github.com/rs/zerolog"
	v1 "k8s.io/api/core/v1"
)

// fakeData is what a fakeislet answers.
type fakeData struct {
	Manifests []httpapi.Manifest     `json:"manifests"`
	Pods      []v1.Pod               `json:"pods"`
	Why       map[string]httpapi.Why `json:"why"` // by namespace/name
	Down      []string               `json:"down"`
	DownError string                 `json:"downError"`
	NotReady  string                 `json:"notReady"`
	Away      bool                   `json:"engineAway"`
}

// fakeIslet is the program fakeislet of the scripts: it answers on the socket
// of a root-dir from a file of fakeData, read again for every answer. The file
// must be replaced by rename.
//
//	fakeislet -root-dir DIR -data FILE
func fakeIslet() {
	rootDir := flag.String("root-dir", "", "directory of the socket")
	path := flag.String("data", "", "file of answers")
	flag.Parse()
	if err := runFake(*rootDir, *path); err != nil {
		fmt.Fprintln(os.Stderr, "fakeislet:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runFake(rootDir, path string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(rootDir, 0o700); err != nil {
		return err
	}
	listener, err := httpapi.ListenUnix(filepath.Join(rootDir, socketName))
	if err != nil {
		return err
	}
	read := func() (data fakeData) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &data)
		}
		if err != nil {
			panic(err) // answered as 500, which no script expects
		}
		return data
	}
	log := zerolog.New(os.Stderr)
	return httpapi.Serve(ctx, listener, httpapi.Handler(fakeConfig(read, stop), log), log)
}

func fakeConfig(read func() fakeData, stop func()) httpapi.Config {
	return httpapi.Config{
		Pods:      func() *v1.PodList { return &v1.PodList{Items: read().Pods} },
		Manifests: func() []httpapi.Manifest { return read().Manifests },
		Why: func(namespace, name string) (httpapi.Why, bool) {
			why, ok := read().Why[namespace+"/"+name]
			return why, ok
		},
		Ready: func() error {
			switch data := read(); {
			case data.Away:
				return fmt.Errorf("ping: %w", pods.ErrEngineAway)
			case data.NotReady != "":
				return errors.New(data.NotReady)
			}
			return nil
		},
		Down: func(_ context.Context, report func(string)) error {
			data := read()
			for _, line := range data.Down {
				report(line)
			}
			if data.DownError != "" {
				return errors.New(data.DownError)
			}
			stop()
			return nil
		},
	}
}
