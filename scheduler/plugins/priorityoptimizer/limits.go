package priorityoptimizer

import (
	"math"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage/stowage/scheduler/plan"
)

// Limits bound the disruptions of one plan, and their rate. 0 is no limit.
type Limits struct {
	// MaxMoves and MaxEvictions are of the whole plan.
	MaxMoves     *int32 `json:"maxMoves,omitempty"`
	MaxEvictions *int32 `json:"maxEvictions,omitempty"`
	// MaxPerNode, MaxPerNamespace and MaxPerWorkload count moves and evictions together.
	MaxPerNode      *int32 `json:"maxPerNode,omitempty"`
	MaxPerNamespace *int32 `json:"maxPerNamespace,omitempty"`
	MaxPerWorkload  *int32 `json:"maxPerWorkload,omitempty"`
	// MaxUnavailablePerWorkload is how many pods of one workload may be unavailable at a time because they are moved.
	MaxUnavailablePerWorkload *int32 `json:"maxUnavailablePerWorkload,omitempty"`
	// EvictionsPerSecond is the rate at which pods are evicted.
	EvictionsPerSecond *float64 `json:"evictionsPerSecond,omitempty"`
}

// Defaults of the limits. The chart's values carry the same ones.
const (
	DefaultMaxUnavailablePerWorkload = int32(1)
	DefaultEvictionsPerSecond        = 40.0
)

func (l *Limits) setDefaults() {
	for _, limit := range []**int32{&l.MaxMoves, &l.MaxEvictions, &l.MaxPerNode, &l.MaxPerNamespace, &l.MaxPerWorkload} {
		setDefaultPointer(limit, 0)
	}
	setDefaultPointer(&l.MaxUnavailablePerWorkload, DefaultMaxUnavailablePerWorkload)
	setDefaultPointer(&l.EvictionsPerSecond, DefaultEvictionsPerSecond)
}

func (l *Limits) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, one := range []struct {
		name  string
		limit *int32
	}{
		{"maxMoves", l.MaxMoves}, {"maxEvictions", l.MaxEvictions}, {"maxPerNode", l.MaxPerNode},
		{"maxPerNamespace", l.MaxPerNamespace}, {"maxPerWorkload", l.MaxPerWorkload},
		{"maxUnavailablePerWorkload", l.MaxUnavailablePerWorkload},
	} {
		if *one.limit < 0 {
			errs = append(errs, field.Invalid(path.Child(one.name), *one.limit, "must not be negative; 0 is no limit"))
		}
	}
	if rate := *l.EvictionsPerSecond; math.IsNaN(rate) || rate < 0 {
		errs = append(errs, field.Invalid(path.Child("evictionsPerSecond"), rate, "must not be negative; 0 is no limit"))
	}
	return errs
}

// pace is the rate limiter of evictions; its burst is one second's worth.
func (l *Limits) pace() *rate.Limiter {
	if *l.EvictionsPerSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(*l.EvictionsPerSecond), max(1, int(*l.EvictionsPerSecond)))
}

func (l *Limits) ofPlan() plan.Limits {
	return plan.Limits{
		Moves: int(*l.MaxMoves), Evictions: int(*l.MaxEvictions), PerNode: int(*l.MaxPerNode),
		PerNamespace: int(*l.MaxPerNamespace), PerWorkload: int(*l.MaxPerWorkload),
	}
}

// In the contract, an absent field is no limit, and 0 allows none.
func (l *Limits) maxMoves() *int32       { return unlessZero(l.MaxMoves) }
func (l *Limits) maxEvictions() *int32   { return unlessZero(l.MaxEvictions) }
func (l *Limits) maxPerWorkload() *int32 { return unlessZero(l.MaxPerWorkload) }

func unlessZero(limit *int32) *int32 {
	if *limit == 0 {
		return nil
	}
	return limit
}
