package priorityoptimizer

import (
	"slices"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
)

// The histogram shows whether holds keep to their bound: it must distinguish one that does from one that does not, and a
// hold of half the time from a whole one.
func TestHoldsOfDifferentLengthsAreInDifferentBuckets(t *testing.T) {
	registerMetrics()
	bounds := holdBounds(t)
	for _, pair := range [][2]float64{
		{0.05, 0.1}, {0.1, 0.25}, {0.25, 0.5}, {0.5, 1}, {1, 1.5}, {1.5, DefaultMaxHoldSeconds},
		{DefaultMaxHoldSeconds, 1.1 * DefaultMaxHoldSeconds}, {2.1, 2.5}, {2.5, 5},
		{maxHold, 2 * maxHold},
	} {
		apart := func(bound float64) bool { return pair[0] <= bound && bound < pair[1] }
		if !slices.ContainsFunc(bounds, apart) {
			t.Errorf("holds of %g s and of %g s are in one bucket: %v", pair[0], pair[1], bounds)
		}
	}
}

// holdBounds are the upper ends of the histogram's buckets, as the process exposes them.
func holdBounds(t *testing.T) (bounds []float64) {
	t.Helper()
	holdSeconds.Observe(0)
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "stowage_priority_optimizer_hold_seconds" {
			continue
		}
		for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
			bounds = append(bounds, bucket.GetUpperBound())
		}
	}
	return bounds
}
