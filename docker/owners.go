package docker

import (
	"context"
	"sort"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// OwnerInfo is an installation that has containers on the engine.
type OwnerInfo struct {
	ID         string
	Root       string // root directory of its newest container
	Containers int    // sandboxes included, ended ones too
}

// Owners returns every installation that has containers on this engine, sorted
// by id: its own, other islets', and lost ones.
func (e *Engine) Owners(ctx context.Context) ([]OwnerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := e.api().ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
	if err != nil {
		return nil, failed("list containers", err)
	}
	return owners(list), nil
}

// owners groups a list, which comes newest first, by owner.
func owners(list []container.Summary) []OwnerInfo {
	byID := map[string]*OwnerInfo{}
	for _, c := range list {
		id := c.Labels[labelOwner]
		if id == "" || len(c.Names) == 0 {
			continue
		}
		if _, ok := identify(id, c.Names[0], c.Labels); !ok {
			continue
		}
		o := byID[id]
		if o == nil {
			o = &OwnerInfo{ID: id, Root: c.Labels[labelRoot]}
			byID[id] = o
		}
		o.Containers++
	}
	out := make([]OwnerInfo, 0, len(byID))
	for _, o := range byID {
		out = append(out, *o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}
