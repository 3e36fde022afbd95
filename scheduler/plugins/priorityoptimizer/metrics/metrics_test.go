package metrics

import (
	"slices"
	"testing"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
)

// The histogram shows whether holds keep to their bound: it must distinguish one that does from one that does not, and a
// hold of half the time from a whole one.
func TestHoldsOfDifferentLengthsAreInDifferentBuckets(t *testing.T) {
	usual := config.Default()
	for _, pair := range [][2]float64{
		{0.05, 0.1}, {0.1, 0.25}, {0.25, 0.5}, {0.5, 1}, {1, 1.5}, {1.5, usual.MaxHoldSeconds},
		{usual.MaxHoldSeconds, 1.1 * usual.MaxHoldSeconds}, {2.1, 2.5}, {2.5, 5},
		{config.MaxHold, 2 * config.MaxHold},
	} {
		apart := func(bound float64) bool { return pair[0] <= bound && bound < pair[1] }
		if !slices.ContainsFunc(holdBuckets, apart) {
			t.Errorf("holds of %g s and of %g s are in one bucket: %v", pair[0], pair[1], holdBuckets)
		}
	}
}
