package store

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

var errInjected = errors.New("injected fault")

// faultyDisk fails at step number failAt (from 1), and with stop at every step
// after it too: what a crash leaves on the disk.
type faultyDisk struct {
	disk
	mu     sync.Mutex
	steps  []string
	failAt int
	stop   bool
	// half: a failing write puts half of the data on the disk.
	half bool
}

func (d *faultyDisk) step(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, name)
	n := len(d.steps)
	if d.failAt > 0 && (n == d.failAt || d.stop && n > d.failAt) {
		return fmt.Errorf("%s: %w", name, errInjected)
	}
	return nil
}

func (d *faultyDisk) create(path string) (diskFile, error) {
	if err := d.step("create"); err != nil {
		return nil, err
	}
	f, err := d.disk.create(path)
	return &faultyFile{diskFile: f, d: d}, err
}

func (d *faultyDisk) rename(from, to string) error {
	if err := d.step("rename"); err != nil {
		return err
	}
	return d.disk.rename(from, to)
}

func (d *faultyDisk) remove(path string) error {
	if err := d.step("remove"); err != nil {
		return err
	}
	return d.disk.remove(path)
}

func (d *faultyDisk) removeAll(path string) error {
	if err := d.step("removeAll"); err != nil {
		return err
	}
	return d.disk.removeAll(path)
}

func (d *faultyDisk) syncDir(path string) error {
	if err := d.step("syncDir"); err != nil {
		return err
	}
	return d.disk.syncDir(path)
}

func (d *faultyDisk) syncAll(path string) error {
	if err := d.step("syncAll"); err != nil {
		return err
	}
	return d.disk.syncAll(path)
}

type faultyFile struct {
	diskFile
	d *faultyDisk
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.d.step("write"); err != nil {
		n := 0
		if f.d.half {
			n, _ = f.diskFile.Write(b[:len(b)/2])
		}
		return n, err
	}
	return f.diskFile.Write(b)
}

func (f *faultyFile) Sync() error {
	if err := f.d.step("sync"); err != nil {
		return err
	}
	return f.diskFile.Sync()
}

var _ io.Writer = (*faultyFile)(nil)
