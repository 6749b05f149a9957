package syncer

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestGateAdmitsWhatIsHalfUpFirstThenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		if err := g.enter(t.Context(), classBegin); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		wait := func(name string, class int) {
			go func() {
				if err := g.enter(t.Context(), class); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				g.leave()
			}()
			synctest.Wait()
		}
		wait("new 1", classBegin)
		wait("new 2", classBegin)
		wait("half up", classContinue)
		g.leave()
		synctest.Wait()
		if want := []string{"half up", "new 1", "new 2"}; !slices.Equal(order, want) {
			t.Fatalf("admitted %v, want %v", order, want)
		}
	})
}

func TestGateForgetsThoseThatGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		if err := g.enter(t.Context(), classBegin); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- g.enter(ctx, classBegin) }()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; err == nil {
			t.Fatal("entered without a slot")
		}
		g.leave()
		if err := g.enter(t.Context(), classBegin); err != nil {
			t.Fatal(err)
		}
		if g.free != 0 || g.queue.Len() != 0 {
			t.Fatalf("free %d, waiting %d after one entered", g.free, g.queue.Len())
		}
	})
}
