package docker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/islet-run/islet/pods"
)

// BenchmarkPodStart compares StartSandbox and StartContainer with the same
// engine calls made by hand: create and start, twice. The two take turns, so
// that whatever else the machine does hits both. Reported are the medians in
// milliseconds and their ratio.
func BenchmarkPodStart(b *testing.B) {
	r := newRig(b)
	var ours, raw []time.Duration
	for n := 0; b.Loop(); n++ {
		for i := range 2 {
			pod := r.pod(fmt.Sprintf("bench-%d-%d", n, i))
			begin := time.Now()
			if (n+i)%2 == 0 {
				r.startPod(b, pod.Name)
				ours = append(ours, time.Since(begin))
			} else {
				r.startRaw(b, pod.Name)
				raw = append(raw, time.Since(begin))
			}
			for _, o := range r.observe(keyOf(pod)) {
				for _, c := range o.Containers {
					r.e.Remove(context.Background(), c.ID, true)
				}
				for _, s := range o.Sandboxes {
					r.e.Remove(context.Background(), s.ID, true)
				}
			}
		}
	}
	mid := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(mid(ours), "ms/pod")
	b.ReportMetric(mid(raw), "ms/raw")
	b.ReportMetric(mid(ours)/mid(raw), "ratio")
	b.ReportMetric(0, "ns/op")
}

func (r *rig) benchRequest(name, box string) pods.ContainerRequest {
	return r.request(r.pod(name), box, "main", "exec sleep 1000")
}

func (r *rig) startPod(b *testing.B, name string) {
	box := r.sandbox(r.pod(name))
	if _, err := r.e.StartContainer(context.Background(), r.benchRequest(name, box.ID)); err != nil {
		b.Fatal(err)
	}
}

func (r *rig) startRaw(b *testing.B, name string) {
	image, err := r.e.sandboxImage()
	if err != nil {
		b.Fatal(err)
	}
	sp := sandboxSpec(r.e.settings(), image, boxRequest(r.pod(name)))
	box := r.raw(b, sp)
	r.raw(b, containerSpec(r.e.settings(), "", r.benchRequest(name, box)))
}

func (r *rig) raw(b *testing.B, sp spec) string {
	ctx := context.Background()
	created, err := r.api.ContainerCreate(ctx, sp.config, sp.host, sp.network, nil, sp.name)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.api.ContainerStart(ctx, created.ID, container.StartOptions{}); err != nil {
		b.Fatal(err)
	}
	return created.ID
}

// BenchmarkObserve is one look at a running pod with one container.
func BenchmarkObserve(b *testing.B) {
	r := newRig(b)
	r.startPod(b, "observed")
	key := keyOf(r.pod("observed"))
	for b.Loop() {
		r.observe(key)
	}
}
