package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// percentile returns the nearest-rank percentile, 0 of nothing.
func percentile(ds []time.Duration, p float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(ds))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// ratio returns the ratio of medians, as text.
func ratio(a, b []time.Duration) string {
	base := percentile(b, 50)
	if base == 0 {
		return "  n/a"
	}
	return fmt.Sprintf("%5.3f", float64(percentile(a, 50))/float64(base))
}

// ms prints a duration in whole milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
