package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// maxValue bounds what is read into memory; the largest legal manifest file
// (10 MiB) with all that is kept beside it is well below.
const maxValue = 64 << 20

// Collection is a directory of named values. A name is any string.
type Collection struct {
	store *Store
	dir   string
}

// envelope is what a file of a collection holds. The name is inside because a
// long one does not fit into the name of the file.
type envelope struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Collection returns one of the collections of the layout: documents/file,
// documents/url, documents/push, identities, outcomes, events, claims. It
// panics on any other name, which is a mistake in the program.
func (s *Store) Collection(name string) *Collection {
	if !slices.Contains(directories, name) || name == "pods" || name == "documents" || name == "quarantine" {
		panic("store: no collection " + name)
	}
	return &Collection{store: s, dir: s.Path(name)}
}

// File is the path of the file that holds, or would hold, the value of name.
func (c *Collection) File(name string) string { return filepath.Join(c.dir, fileName(name)) }

// Put stores v under name, durably.
func (c *Collection) Put(name string, v any) error {
	data, err := encode(name, v)
	if err != nil {
		return err
	}
	return replace(c.store.disk, c.File(name), data)
}

func encode(name string, v any) ([]byte, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	data, err := json.Marshal(envelope{Name: name, Value: value})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return append(data, '\n'), nil
}

// PutAll stores many values with few flushes. Each value is replaced as a
// whole; the batch is not: after an error some are old and some are new.
func (c *Collection) PutAll(values map[string]any) error {
	if len(values) == 0 {
		return nil
	}
	temps, err := c.writeTemps(values)
	if err == nil {
		err = c.renameTemps(temps)
	}
	if err != nil {
		for _, temp := range temps {
			if rmErr := c.store.disk.remove(temp); rmErr != nil && !os.IsNotExist(rmErr) {
				err = errors.Join(err, rmErr)
			}
		}
		return fmt.Errorf("write %s: %w", c.dir, err)
	}
	if err := c.store.disk.syncDir(c.dir); err != nil {
		return fmt.Errorf("flush %s: %w", c.dir, err)
	}
	return nil
}

// flushAllFrom is the batch size from which the whole file system is flushed
// once instead of file by file. That costs the same for any number of files,
// but waits for what all other programs have written too.
const flushAllFrom = 512

// writeTemps returns the temporary file of each name, also of those written
// before an error. Small batches are flushed side by side: a journalling file
// system then commits them together.
func (c *Collection) writeTemps(values map[string]any) (map[string]string, error) {
	temps := make(map[string]string, len(values))
	flushEach := len(values) < c.store.flushAllFrom
	var g errgroup.Group
	g.SetLimit(8)
	type written struct{ name, temp string }
	done := make(chan written, len(values))
	for name, v := range values {
		data, err := encode(name, v)
		if err != nil {
			g.Go(func() error { return err })
			break
		}
		g.Go(func() error {
			temp, err := writeTemp(c.store.disk, c.dir, data, flushEach)
			if err == nil {
				done <- written{name, temp}
			}
			return err
		})
	}
	err := g.Wait()
	close(done)
	for w := range done {
		temps[w.name] = w.temp
	}
	if err == nil && !flushEach {
		err = c.store.disk.syncAll(c.dir)
	}
	return temps, err
}

func (c *Collection) renameTemps(temps map[string]string) error {
	for name, temp := range temps {
		if err := c.store.disk.rename(temp, c.File(name)); err != nil {
			return cause(err)
		}
	}
	return nil
}

// Get reads the value of name into v. It returns [ErrNotFound] when there is
// none and a [CorruptError] when there was one that cannot be read.
func (c *Collection) Get(name string, v any) error {
	path := c.File(name)
	e, err := c.read(path)
	if err != nil {
		return err
	}
	if e.Name != name {
		return c.store.quarantine(path, fmt.Errorf("holds the value of %q", e.Name))
	}
	if err := json.Unmarshal(e.Value, v); err != nil {
		return c.store.quarantine(path, err)
	}
	return nil
}

func (c *Collection) read(path string) (envelope, error) {
	var e envelope
	data, err := readBounded(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return e, fmt.Errorf("read %s: %w", path, ErrNotFound)
	case err != nil && shortage(err):
		return e, fmt.Errorf("read %s: %w", path, err)
	case err != nil:
		return e, c.store.quarantine(path, err)
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, c.store.quarantine(path, err)
	}
	if len(e.Value) == 0 {
		return e, c.store.quarantine(path, errors.New("holds no value"))
	}
	return e, nil
}

// readBounded reads a regular file; a FIFO put there does not block it.
func readBounded(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > maxValue {
		return nil, fmt.Errorf("larger than %d bytes", maxValue)
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n == len(data) {
		err = nil
	}
	return data[:n], err
}

// Delete removes the value of name, durably. A name without a value is no
// error.
func (c *Collection) Delete(name string) error { return c.DeleteAll([]string{name}) }

// DeleteAll removes the values of many names with one flush.
func (c *Collection) DeleteAll(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if err := c.store.disk.remove(c.File(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("delete value: %w", err)
		}
	}
	if err := c.store.disk.syncDir(c.dir); err != nil {
		return fmt.Errorf("flush %s: %w", c.dir, err)
	}
	return nil
}

// List returns all names, sorted, and what could not be read.
func (c *Collection) List() ([]string, []*CorruptError, error) {
	var names []string
	bad, err := c.Each(func(name string, _ []byte) error {
		names = append(names, name)
		return nil
	})
	return names, bad, err
}

// Each calls use with every name and its value (JSON), sorted by name. Where
// use returns an error the value counts as unreadable and goes to quarantine
// too. Each returns what went there; its error means that the collection could
// not be read to the end.
func (c *Collection) Each(use func(name string, value []byte) error) ([]*CorruptError, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("list values: %w", err)
	}
	var bad []*CorruptError
	var all []envelope
	for _, entry := range entries {
		path := filepath.Join(c.dir, entry.Name())
		if !strings.HasSuffix(entry.Name(), valueSuffix) || strings.HasPrefix(entry.Name(), tempPrefix) {
			continue // not written by Put; left where it is
		}
		e, err := c.read(path)
		if err == nil && path != c.File(e.Name) {
			err = c.store.quarantine(path, fmt.Errorf("holds the value of %q", e.Name))
		}
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			bad = append(bad, corrupt)
		case errors.Is(err, ErrNotFound): // deleted meanwhile
		case err != nil:
			return bad, err
		default:
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b envelope) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range all {
		if err := use(e.Name, e.Value); err != nil {
			bad = append(bad, c.store.quarantine(c.File(e.Name), err))
		}
	}
	return bad, nil
}
