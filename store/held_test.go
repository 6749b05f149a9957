package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHeldKnowsARootDirThatIsNoLongerOurs(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(root string) error
		held bool
	}{
		{"untouched", func(string) error { return nil }, true},
		{"a value written", func(root string) error { return os.WriteFile(filepath.Join(root, "events", "x"), nil, 0o600) }, true},
		{"removed", os.RemoveAll, false},
		{"moved away", func(root string) error { return os.Rename(root, root+".away") }, false},
		{"replaced", func(root string) error {
			if err := os.Rename(root, root+".away"); err != nil {
				return err
			}
			s, err := Open(root)
			if err == nil {
				t.Cleanup(func() { _ = s.Close() })
			}
			return err
		}, false},
		{"lock removed", func(root string) error { return os.Remove(filepath.Join(root, "lock")) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(filepath.Join(t.TempDir(), "root"))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := c.do(s.Root()); err != nil {
				t.Fatal(err)
			}
			if err := s.Held(); (err == nil) != c.held {
				t.Errorf("held: %v, want %v", err, c.held)
			}
		})
	}
}
