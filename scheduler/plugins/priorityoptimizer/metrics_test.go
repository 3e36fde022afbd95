package priorityoptimizer

import (
	"math"
	"slices"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"
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

// The share of the time in which pods are held is read off a counter: the histogram counts pods, not time.
func TestTimeOfHoldsIsCounted(t *testing.T) {
	registerMetrics()
	clock := testingclock.NewFakeClock(time.Now())
	h, before := testHold(clock), heldSoFar(t)

	h.begin(2 * time.Second)
	clock.SetTime(clock.Now().Add(500 * time.Millisecond))
	h.end()
	h.begin(time.Second)
	clock.SetTime(clock.Now().Add(3 * time.Second)) // nobody ended it
	h.end()

	if got := heldSoFar(t) - before; math.Abs(got-1.5) > 1e-9 {
		t.Errorf("counted %g s of holds that lasted 0.5 s and 1 s", got)
	}
}

func heldSoFar(t *testing.T) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(heldSeconds)
	if err != nil {
		t.Fatal(err)
	}
	return value
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
