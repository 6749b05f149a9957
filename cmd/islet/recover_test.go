package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/islet-run/islet/docker"
)

func TestChooseOwner(t *testing.T) {
	const own, a, b = "0000000000000000000000000000000f", "0000000000000000000000000000000a", "0000000000000000000000000000000b"
	here := func(id string) docker.OwnerInfo { return docker.OwnerInfo{ID: id, Root: "/r", Containers: 2} }
	there := func(id string) docker.OwnerInfo { return docker.OwnerInfo{ID: id, Root: "/other", Containers: 1} }
	for _, row := range []struct {
		name    string
		q       ownerQuestion
		owners  []docker.OwnerInfo
		want    string
		refused string
	}{
		{"an installation that knows itself", ownerQuestion{own: own}, []docker.OwnerInfo{here(a)}, own, ""},
		{"a new one on an empty engine", ownerQuestion{own: own, fresh: true}, nil, own, ""},
		{"a new one beside another", ownerQuestion{own: own, fresh: true}, []docker.OwnerInfo{there(a)}, own, ""},
		{"state lost", ownerQuestion{own: own, fresh: true}, []docker.OwnerInfo{here(a), there(b)}, a, ""},
		{"state lost twice", ownerQuestion{own: own, fresh: true}, []docker.OwnerInfo{here(a), here(b)}, "", "--adopt-owner"},
		{"state lost twice, one chosen", ownerQuestion{own: own, fresh: true, adopt: b}, []docker.OwnerInfo{here(a), here(b)}, b, ""},
		{"another root-dir's", ownerQuestion{own: own, fresh: true, adopt: a}, []docker.OwnerInfo{there(a)}, a, ""},
		{"adopted before, and nothing runs", ownerQuestion{own: a, adopt: a}, nil, a, ""},
		{"a wrong id", ownerQuestion{own: own, fresh: true, adopt: a}, []docker.OwnerInfo{here(b)}, "", b},
		{"a wrong id on an empty engine", ownerQuestion{own: own, fresh: true, adopt: a}, nil, "", "nobody has any"},
		{"who has pods gives up none", ownerQuestion{own: own, adopt: a}, []docker.OwnerInfo{here(own), here(a)}, "", "islet down"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.q.root = "/r"
			got, err := chooseOwner(row.q, row.owners)
			var refused *ownerError
			switch {
			case row.refused == "" && (err != nil || got != row.want):
				t.Errorf("got %q, %v; want %q", got, err, row.want)
			case row.refused != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), row.refused)):
				t.Errorf("error %v does not name %q", err, row.refused)
			}
		})
	}
}

func TestAdoptOwnerFlag(t *testing.T) {
	for id, good := range map[string]bool{"": true, "0123456789abcdef0123456789abcdef": true, "0123": false, "0123456789ABCDEF0123456789ABCDEF": false} {
		opts := defaultRunOptions()
		opts.AdoptOwner = id
		if err := opts.Validate(); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "--adopt-owner") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestConfirm(t *testing.T) {
	for answer, yes := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yess\n": false} {
		var out strings.Builder
		d := &downer{stdin: strings.NewReader(answer), stdout: &out}
		if err := d.confirm("Really?\n"); (err == nil) != yes {
			t.Errorf("answer %q: %v", answer, err)
		}
		if !strings.Contains(out.String(), "Really?") {
			t.Errorf("it asked %q", out.String())
		}
	}
	d := &downer{opts: downOptions{Yes: true}, stdin: strings.NewReader("n\n")}
	if err := d.confirm("Really?"); err != nil {
		t.Errorf("--yes: %v", err)
	}
}
