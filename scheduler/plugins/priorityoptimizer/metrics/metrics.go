// Package metrics is what the plugin shows of its work.
package metrics

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/stowage/stowage/scheduler/internal/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
)

const subsystem = metrics.Subsystem("priority_optimizer")

// holdBuckets are close to each other around the default bound of two seconds, which the timer that ends a hold may
// exceed by a little, and go beyond the longest that a profile may ask for.
var holdBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.1, 2.5, 5, 10, 20, config.MaxHold, 1.5 * config.MaxHold}

var (
	SolvesTotal = subsystem.CounterVec("solves_total",
		"Solves by end reason: that of the optimiser, or UNREACHABLE, LATE, BROKEN, or KNOWN_STATE for one that was skipped.",
		"end_reason")
	RefusedPlansTotal = subsystem.CounterVec("refused_plans_total",
		"Plans of the optimiser that were refused, by reason.", "reason")
	ObjectionsTotal = subsystem.CounterVec("objections_total",
		"Pods for which a plan was rejected although it keeps the contract, by reason.", "reason")
	DeviceDifferencesTotal = subsystem.Counter("device_differences_total",
		"Pods that get other devices in the rehearsal of a plan than the optimiser says. The plan is carried out if all of its pods fit.")
	PlansTotal            = subsystem.CounterVec("plans_total", "PackingPlans by final phase.", "phase")
	MovesTotal            = subsystem.Counter("moves_total", "Pods evicted to be bound elsewhere.")
	EvictionsTotal        = subsystem.Counter("evictions_total", "Pods evicted and left unplaced.")
	EmptiedNodesTotal     = subsystem.Counter("emptied_nodes_total", "Nodes that plans have emptied.")
	RefusedEvictionsTotal = subsystem.CounterVec("refused_evictions_total",
		"Evictions of a plan that were refused, by reason: DisruptionBudget and Later are tried again, Forbidden aborts the plan.",
		"reason")
	OpenPlanStart = subsystem.Gauge("open_plan_start_time_seconds",
		"Unix time at which the plan began that is carried out or whose end is not recorded yet; 0 if there is none.")
	HeldPods     = subsystem.Gauge("held_pods", "Pods that wait for a solve to end, for their batch, or until a plan is resumed.")
	HoldSeconds  = subsystem.Histogram("hold_seconds", "How long pods were held back by solves.", holdBuckets)
	HeldSeconds  = subsystem.Counter("held_seconds_total", "Seconds during which new pods were held back: at most maxHoldShare of any minute.")
	SolveSeconds = subsystem.Histogram("solve_seconds", "How long the optimiser took to answer.",
		basemetrics.ExponentialBuckets(0.01, 2, 14))
)

// Register may be called once for each profile.
var Register = sync.OnceFunc(func() {
	legacyregistry.MustRegister(SolvesTotal, RefusedPlansTotal, ObjectionsTotal, DeviceDifferencesTotal, PlansTotal, MovesTotal,
		EvictionsTotal, EmptiedNodesTotal, RefusedEvictionsTotal, OpenPlanStart, HeldPods, HoldSeconds, HeldSeconds, SolveSeconds)
})
