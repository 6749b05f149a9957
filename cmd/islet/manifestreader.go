package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxManifest is one more byte than a manifest may have, so that one that is
// too large is seen to be.
const maxManifest = 10<<20 + 1

// manifestText is a file, or what came from standard input.
type manifestText struct {
	source string // file or stdin
	path   string // as the user wrote it, or below what the user wrote
	dir    string // documents of one directory share names
	data   []byte
	err    error // why there is no data
}

// manifestReader reads what arguments name.
type manifestReader struct {
	stdin io.Reader
	// note is told what is left out.
	note func(format string, args ...any)
	seen map[string]bool // absolute paths
}

// readAll reads files, directories and "-". An argument that names nothing is
// an error; a file that is there and cannot be read is a manifestText with err.
func (r *manifestReader) readAll(args []string) ([]manifestText, error) {
	r.seen = map[string]bool{}
	var texts []manifestText
	for _, arg := range args {
		if arg == "-" {
			if !r.first("-") {
				continue
			}
			data, err := io.ReadAll(io.LimitReader(r.stdin, maxManifest))
			texts = append(texts, manifestText{source: "stdin", path: "stdin", dir: "-", data: data, err: bare(err)})
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s does not exist", arg)
		case err == nil && info.IsDir():
			files, err := r.readDir(arg)
			if err != nil {
				return nil, err
			}
			texts = append(texts, files...)
		case r.firstFile(arg):
			// Named by hand, so a pipe is meant: <(helm template chart).
			texts = append(texts, r.readFile(arg, err))
		}
	}
	return texts, nil
}

// readDir reads the manifests of a directory, in the order of their names.
func (r *manifestReader) readDir(dir string) ([]manifestText, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read directory %s: %w", dir, bare(err))
	}
	var texts []manifestText
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue // editors and ConfigMap volumes keep their own things there
		}
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			r.note("left out %s: directories below are not read", path)
		case !isManifest(path):
			r.note("left out %s: not a .yaml, .yml or .json file", path)
		case err == nil && !info.Mode().IsRegular():
			r.note("left out %s: not a regular file", path)
		case r.firstFile(path):
			texts = append(texts, r.readFile(path, err))
		}
	}
	return texts, nil
}

func isManifest(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// readFile reads a file unless looking at it has failed already.
func (r *manifestReader) readFile(path string, err error) manifestText {
	text := manifestText{source: "file", path: path, dir: filepath.Dir(absolute(path)), err: bare(err)}
	if err != nil {
		return text
	}
	file, err := os.Open(path)
	if err != nil {
		text.err = bare(err)
		return text
	}
	defer file.Close()
	text.data, err = io.ReadAll(io.LimitReader(file, maxManifest))
	text.err = bare(err)
	return text
}

// first reports whether a thing is seen for the first time: a file that is
// named twice does not conflict with itself.
func (r *manifestReader) first(name string) bool {
	if r.seen[name] {
		return false
	}
	r.seen[name] = true
	return true
}

func (r *manifestReader) firstFile(path string) bool { return r.first(absolute(path)) }

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// bare drops "open PATH:" from an error: the path is printed anyway.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
