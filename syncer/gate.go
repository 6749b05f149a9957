package syncer

import (
	"container/heap"
	"context"
	"sync"
)

// gate admits a fixed number of engine starts at a time. Among those that wait,
// the lower class goes first, then the one that came first.
type gate struct {
	mu    sync.Mutex
	free  int
	seq   uint64
	queue waiters
}

// Classes of waiting starts: finishing a pod that is half up goes before
// beginning another, so that pods come up one after the other instead of all
// at the end.
const (
	classContinue = iota
	classBegin
)

func newGate(slots int) *gate { return &gate{free: slots} }

// enter waits for a slot; leave must be called when it returned nil.
func (g *gate) enter(ctx context.Context, class int) error {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	g.seq++
	w := &waiter{class: class, seq: g.seq, admitted: make(chan struct{})}
	heap.Push(&g.queue, w)
	g.mu.Unlock()
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.admitted: // admitted in the same moment: pass the slot on
		g.passLocked()
	default:
		heap.Remove(&g.queue, w.index)
	}
	return ctx.Err()
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passLocked()
}

func (g *gate) passLocked() {
	if g.queue.Len() == 0 {
		g.free++
		return
	}
	close(heap.Pop(&g.queue).(*waiter).admitted)
}

type waiter struct {
	class    int
	seq      uint64
	index    int
	admitted chan struct{}
}

// waiters is a heap.Interface.
type waiters []*waiter

func (q waiters) Len() int { return len(q) }
func (q waiters) Less(i, j int) bool {
	if q[i].class != q[j].class {
		return q[i].class < q[j].class
	}
	return q[i].seq < q[j].seq
}
func (q waiters) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(*q)
	*q = append(*q, w)
}
func (q *waiters) Pop() any {
	old := *q
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return w
}
