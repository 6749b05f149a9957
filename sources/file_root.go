package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/islet-run/islet/manifests"
)

// problem is a fault of a file or of the root, in the words of a verdict.
type problem struct {
	reason  string // CamelCase
	message string
}

// Reasons of verdicts that the file source gives itself; those of a text come
// from manifests.
const (
	reasonMissing     = "DirectoryMissing"
	reasonUnreadable  = "Unreadable"
	reasonReplaced    = "DirectoryReplaced"
	reasonPathChanged = "PathChanged"
	reasonPermissions = "WritableByOthers"
	reasonRemoved     = "Removed"
	reasonFileFaulty  = "FileRejected"
	reasonNotAFile    = "NotAFile"
	reasonStored      = "StoredUnreadable"
	reasonUnsupported = manifests.ReasonUnsupportedKind
)

// root identifies what the documents come from: the directory, or for a single
// file the directory that holds it. Another one under the same path is a mount
// that came or went, or a directory made anew.
type root struct {
	Kind string `json:"kind"` // dir, file, "" while never seen
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

const (
	kindDir  = "dir"
	kindFile = "file"
)

// view is the root as one look finds it.
type view struct {
	root  root
	paths []string // candidates, sorted; nil unless err is nil
	other []string // names that are not manifests
	links []string // those of paths that are symlinks
	fault *problem
	mode  fs.FileMode // of the directory, or of the single file
}

// lookAt finds out what is at path. last tells a single file that was deleted
// from a directory that is missing.
func lookAt(path string, last root) view {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lookAtMissing(path, last)
	case err != nil:
		return view{fault: &problem{reasonUnreadable, fmt.Sprintf("look at %s: %v", path, plainCause(err))}}
	case info.IsDir():
		return lookAtDir(path, info)
	case info.Mode().IsRegular():
		return lookAtFile(path, info.Mode(), []string{path})
	}
	return view{fault: &problem{reasonNotAFile, fmt.Sprintf("%s is %s; give a directory or a file", path, typeName(info.Mode()))}}
}

func lookAtMissing(path string, last root) view {
	if _, err := os.Lstat(path); err == nil {
		return view{fault: &problem{reasonMissing, fmt.Sprintf("%s is a link to something that is not there", path)}}
	}
	if last.Kind == kindFile {
		// A single file is removed by deleting it, as long as the directory
		// around it is the one that held it.
		if v := lookAtFile(path, 0, nil); v.fault == nil && v.root == last {
			return v
		}
	}
	return view{fault: &problem{reasonMissing, fmt.Sprintf("%s does not exist", path)}}
}

func lookAtFile(path string, mode fs.FileMode, paths []string) view {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return view{fault: &problem{reasonUnreadable, fmt.Sprintf("look at %s: %v", filepath.Dir(path), plainCause(err))}}
	}
	v := view{paths: paths, mode: mode}
	if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		v.links = paths
	}
	v.root.Kind = kindFile
	v.root.Dev, v.root.Ino = inode(info)
	return v
}

func lookAtDir(path string, info fs.FileInfo) view {
	v := view{mode: info.Mode()}
	v.root.Kind = kindDir
	v.root.Dev, v.root.Ino = inode(info)
	if info.Mode().Perm()&0o444 == 0 {
		v.fault = &problem{reasonUnreadable, fmt.Sprintf("%s has no read permission", path)}
		return v
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		v.fault = &problem{reasonUnreadable, fmt.Sprintf("list %s: %v", path, plainCause(err))}
		return v
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case isManifest(name):
			v.paths = append(v.paths, filepath.Join(path, name))
			if e.Type()&fs.ModeSymlink != 0 {
				v.links = append(v.links, filepath.Join(path, name))
			}
		default:
			v.other = append(v.other, name)
		}
	}
	return v
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func inode(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Dev, st.Ino
	}
	return 0, 0
}

// plainCause takes the operation and the path off an error of package os, where
// the message around it names them already.
func plainCause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func typeName(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}
