package pods

import "testing"

// BenchmarkPlan is one pass over 10,000 pods of which none has changed.
func BenchmarkPlan(b *testing.B) {
	const count = 10_000
	scenes := make([]*scene, count)
	for i := range scenes {
		scenes[i] = running()
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range scenes {
			if d := Plan(s.now, s.want, s.have); len(d.Actions) > 0 {
				b.Fatalf("%v", lines(d))
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/pass")
}

// BenchmarkPlanBegin is the first plan of a new pod.
func BenchmarkPlanBegin(b *testing.B) {
	s := fresh()
	b.ReportAllocs()
	for b.Loop() {
		Plan(s.now, s.want, s.have)
	}
}

// BenchmarkStatus is the status of one running pod that was looked at before.
func BenchmarkStatus(b *testing.B) {
	s := running()
	st := Status(s.now, node, *s.in())
	s.in().Previous = &st
	b.ReportAllocs()
	for b.Loop() {
		Status(s.now, node, *s.in())
	}
}
