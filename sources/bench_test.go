package sources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/islet-run/islet/store"
)

// BenchmarkMerge10000 is one merge of 10,000 pods of which none is different.
func BenchmarkMerge10000(b *testing.B) {
	s, err := store.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	pc, err := NewPodConfig(PodConfigConfig{Sources: onlyFile, Store: s, Log: zerolog.Nop(),
		Decode: fakeDecode, Compare: fakeCompare, EffectiveDigest: fakeEffectiveDigest})
	if err != nil {
		b.Fatal(err)
	}
	u := Update{Source: "file", Clean: true}
	for i := range 10000 {
		u.Documents = append(u.Documents, docsOf("file", fmt.Sprintf("/m/%05d.yaml", i), fmt.Sprintf("pod p%d 1", i), 1)...)
	}
	pc.accept(u)
	var send *Snapshot
	begin := time.Now()
	if !pc.step(&send) || len(send.Pods) != 10000 {
		b.Fatal("first merge")
	}
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "first-ms")
	b.ReportAllocs()
	for b.Loop() {
		if !pc.step(&send) {
			b.Fatal("merge")
		}
	}
	b.StopTimer()
	// One edited pod writes one record.
	next := Update{Source: "file", Clean: true, Documents: slices.Clone(u.Documents)}
	next.Documents[5000] = docsOf("file", "/m/05000.yaml", "pod p5000 2", 2)[0]
	pc.accept(next)
	begin = time.Now()
	pc.step(&send)
	b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "one-edit-ms")
	if n := len(pc.batch.puts); n != 0 {
		b.Fatalf("%d records are left", n)
	}
}

const realPod = `apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {app: web, tier: front}
spec:
  containers:
  - name: web
    image: registry.example/web:1.0
    args: ["--listen", ":8080", "--value=%d"]
    ports: [{containerPort: 8080}]
    env: [{name: A, value: "1"}]
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 64Mi}}
`

// TestMeasure prints what issue and documentation quote. It checks the bounds
// with room for a loaded machine.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	pods := make(map[string]string)
	for i := range 110 {
		pods[fmt.Sprintf("p%03d.yaml", i)] = fmt.Sprintf(realPod, fmt.Sprintf("p%d", i), 0)
	}
	r := newRig(t, pods, func(c *FileConfig) { c.Decode, c.RemovalDelay = nil, time.Second })
	r.waitFor("110 pods", func(u Update) bool { return len(u.Documents) == 110 && u.Clean })

	var adds, removes []time.Duration
	for i := range 20 {
		name := fmt.Sprintf("new%d", i)
		r.write(".new", fmt.Sprintf(realPod, name, 0))
		begin := time.Now()
		r.rename(".new", name+".yaml")
		r.waitFor(name, func(u Update) bool { return len(u.Documents) == 111+i })
		adds = append(adds, time.Since(begin))
	}
	for i := range 3 {
		begin := time.Now()
		r.remove(fmt.Sprintf("new%d.yaml", i))
		r.waitFor("removal", func(u Update) bool { return len(u.Documents) == 129-i })
		removes = append(removes, time.Since(begin))
	}
	t.Logf("rename to update, 110 files: %s", quantiles(adds))
	t.Logf("removal to update: %s", quantiles(removes))
	slices.Sort(adds)
	if p50 := adds[len(adds)/2]; p50 > 100*time.Millisecond {
		t.Errorf("additions take %v", p50)
	}
	if p50 := removes[1]; p50 < time.Second || p50 > 1500*time.Millisecond {
		t.Errorf("removals take %v", p50)
	}
	cpu := pollCost(t, r, 200)
	t.Logf("one poll of 127 unchanged files: %v of CPU, that is %.4f %% of a core at one per 20 s", cpu, 100*cpu.Seconds()/20)
}

// pollCost is the CPU time of one of n polls.
func pollCost(t *testing.T, r *rig, n int) time.Duration {
	r.stop() // its state is ours now
	f := r.file
	f.watch = newWatcher(f.log)
	defer f.watch.close()
	loop := fileLoop{started: true}
	f.scan(&loop)
	begin := cpuTime(t)
	for range n {
		f.scan(&loop)
	}
	return (cpuTime(t) - begin) / time.Duration(n)
}

func TestTenThousandFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	r := newRig(t, nil, func(c *FileConfig) {
		c.Decode = nil
		for i := range 10000 {
			text := fmt.Sprintf(realPod, "p"+strconv.Itoa(i), i)
			if err := os.WriteFile(filepath.Join(c.Path, fmt.Sprintf("p%05d.yaml", i)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
	before := heap()
	begin, cpu := time.Now(), cpuTime(t)
	r.waitFor("10,000 pods", func(u Update) bool { return len(u.Documents) == 10000 })
	t.Logf("first read of 10,000 files: %v, %v of CPU", time.Since(begin), cpuTime(t)-cpu)
	r.put("a.yaml", fmt.Sprintf(realPod, "a", 0))
	begin = time.Now()
	r.waitFor("one more", func(u Update) bool { return len(u.Documents) == 10001 })
	t.Logf("one more: %v", time.Since(begin))
	t.Logf("memory per file: %d bytes", (heap()-before)/10001)
	r.remove("a.yaml")
	r.waitFor("one less", func(u Update) bool { return len(u.Documents) == 10000 })
	t.Logf("one poll of 10,000 unchanged files: %v of CPU", pollCost(t, r, 10))
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func quantiles(all []time.Duration) string {
	all = slices.Clone(all)
	slices.Sort(all)
	return fmt.Sprintf("p50 %v, p95 %v, max %v", all[len(all)/2], all[len(all)*95/100], all[len(all)-1])
}

// TestManifestsEndToEnd runs both halves with the real package manifests.
func TestManifestsEndToEnd(t *testing.T) {
	pod := fmt.Sprintf(realPod, "web", 1)
	r := newRig(t, map[string]string{"web.yaml": pod}, func(c *FileConfig) { c.Decode = nil })
	pc, err := NewPodConfig(PodConfigConfig{Sources: onlyFile, Store: r.cfg.Store, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in, done := make(chan Update), make(chan struct{})
	go func() { defer close(done); _ = pc.Run(ctx, in) }()
	defer func() { cancel(); <-done }()
	forward := func(what string, ok func(Update) bool) { in <- r.waitFor(what, ok) }
	receive := func() Pod {
		select {
		case s := <-pc.Updates():
			if len(s.Pods) == 1 {
				return s.Pods[0]
			}
			t.Fatalf("%d pods", len(s.Pods))
		case <-time.After(patience):
			t.Fatal("no snapshot")
		}
		panic("unreachable")
	}
	good := func(u Update) bool { return u.Clean && len(u.Documents) == 1 && !u.Documents[0].LastGood }
	forward("web", good)
	first := receive()
	if first.Pod.UID == "" || first.Pod.Generation != 1 || first.Pod.Spec.RestartPolicy != "Always" || first.Pod.Annotations[annotationHash] == "" {
		t.Errorf("pod is %+v", first.Pod.ObjectMeta)
	}
	r.put("web.yaml", strings.Replace(pod, "containers:", "containers", 1))
	forward("a last good copy", func(u Update) bool { return len(u.Documents) == 1 && u.Documents[0].LastGood })
	if p := receive(); p.Pod != first.Pod {
		t.Error("a typo gave another pod")
	}
	r.put("web.yaml", strings.Replace(pod, "tier: front", "tier: back", 1))
	forward("labels", good)
	if p := receive(); p.Pod.UID != first.Pod.UID || p.Pod.Generation != 2 {
		t.Errorf("a label edit gave %s, generation %d", p.Pod.UID, p.Pod.Generation)
	}
	r.put("web.yaml", strings.Replace(pod, "value=1", "value=2", 1))
	forward("args", func(u Update) bool { return good(u) && strings.Contains(string(u.Documents[0].Doc.Text), "value=2") })
	if p := receive(); p.Pod.UID == first.Pod.UID || p.Pod.Generation != 1 {
		t.Errorf("an edit of args gave %s, generation %d", p.Pod.UID, p.Pod.Generation)
	}
}
