// Package planning looks for plans: it asks the optimiser, checks the answers, and says what is proved of them.
package planning

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/sets"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// readyTimeout bounds the check whether the optimiser is reachable and healthy. One that is not there is known at once;
	// one that is there may take seconds to answer on a busy machine.
	readyTimeout = 5 * time.Second
	// PauseFactor is the pause after a solve, in multiples of the time that this process itself spent on it: a large
	// cluster must not spend its scheduler's time on snapshots.
	PauseFactor = 10
)

// Planner looks for plans. The loop alone uses it, but for active.
type Planner struct {
	Args    *config.PriorityOptimizerArgs
	Clock   clock.WithDelayedExecution
	Solver  Solver
	Records *records.Plans
	View    *clusterview.View
	Trigger *gate.Trigger
	// Rehearser is where plans are rehearsed; nil until the scheduler is complete.
	Rehearser *atomic.Pointer[Rehearser]
	// Client asks about replacements, beside the rate limit of bindings.
	Client clientset.Interface
	// StatusBytes is what the status of a plan may take.
	StatusBytes int

	// solvedStates are the fingerprints of the states for which the optimiser need not be asked again.
	solvedStates *utilcache.LRUExpireCache
	// refusedPairs are the pod classes and nodes that recent rehearsals have refused, and until when that counts.
	refusedPairs map[snapshot.Pair]time.Time
	// refusedOwners are the workloads whose replacement the API server has refused as a dry run, and until when that counts.
	refusedOwners map[types.UID]time.Time
	// snapshots counts those that were sent to the optimiser.
	snapshots int
	// active is the solve under way; nil otherwise. The informer's handlers read it.
	active atomic.Pointer[activeSolve]
}

// Solver is the optimiser as the plugin sees it: optimizerclient.Client.
type Solver interface {
	Ready(ctx context.Context) error
	Solve(ctx context.Context, request *contract.SolveRequest, verify func(*contract.Plan) error) (*contract.SolveUpdate, error)
}

// Rehearser tries a plan before anything is done: rehearsal.Framework.
type Rehearser interface {
	Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error)
	// Empty tries what another scheduler would do.
	Empty(ctx context.Context, nodes []rehearsal.Emptied, closed []string, taint v1.Taint) (rehearsal.Drained, error)
	// Room is what is free on the nodes, and what pods still take there that leave.
	Room(ctx context.Context, leaving sets.Set[types.UID], nodes ...string) (
		free, toCome map[string]resources.Vector, err error)
}

// Forget makes the planner ask about everything anew. It must be called first.
func (p *Planner) Forget() {
	p.refusedPairs, p.refusedOwners = map[snapshot.Pair]time.Time{}, map[types.UID]time.Time{}
	p.solvedStates = utilcache.NewLRUExpireCacheWithClock(maxSolvedStates, p.Clock)
}

// activeSolve is the solve under way.
type activeSolve struct {
	plan   types.UID
	cancel context.CancelCauseFunc
}

// errAborted ends the solve of a plan that its user aborts.
var errAborted = errors.New(records.MessageAborted)

// CancelIfAborted ends the solve of the given plan if its user aborts it. While the loop waits for the optimiser it
// handles no events, so the informer's handler calls this.
func (p *Planner) CancelIfAborted(object any) {
	shown, ok := object.(*packingplan.Record)
	if now := p.active.Load(); ok && now != nil && shown.UID() == now.plan && shown.Spec.Abort {
		now.cancel(errAborted)
	}
}

// limitOf is the time limit that the plan asks for, up to the profile's maximum.
func (p *Planner) limitOf(record *packingplan.Record) time.Duration {
	if record.Spec.TimeLimitSeconds != nil {
		return config.Seconds(min(*record.Spec.TimeLimitSeconds, p.Args.MaxTimeLimitSeconds))
	}
	return config.Seconds(p.Args.TimeLimitSeconds)
}

func (p *Planner) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return p.Solver.Ready(ctx)
}

// IsKnown says whether no pod waits for a node, or the state is remembered as one that allows no improvement. The solve
// does not use its snapshot: pods are bound until the hold begins, and the plan would be for an outdated state.
func (p *Planner) IsKnown() bool {
	if len(p.solvedStates.Keys()) == 0 && p.Trigger.All().Len() > 0 {
		return false
	}
	began := p.Clock.Now()
	defer func() { p.Trigger.Pause(PauseFactor * p.Clock.Since(began)) }()
	state := p.View.SnapshotUnder(p.View.Rules, "", p.Trigger.IsMarked())
	p.Trigger.KeepOnly(func(uid types.UID) bool { return state.Pods[uid] != nil })
	if state.Pending() == 0 {
		return true
	}
	// What is proved for a state without temporarily protected pods also holds for the same state with them.
	_, known := p.solvedStates.Get(state.Fingerprint())
	session := &Session{Planner: p, Record: &packingplan.Record{}, Snapshot: state, history: p.Records.History()}
	session.applyConstraints()
	if !known {
		_, known = p.solvedStates.Get(state.Fingerprint())
	}
	if !known {
		return false
	}
	if !session.NextChange.IsZero() {
		p.Trigger.RetryAt(session.NextChange)
	}
	return true
}

// Proved remembers a state for which it is proved that nothing is better.
func (p *Planner) Proved(fingerprint string) { p.solvedStates.Add(fingerprint, nil, provedFor) }

func FailureLabel(err error) string {
	var unreachable *optimizerclient.UnreachableError
	var late *optimizerclient.LateError
	switch {
	case errors.As(err, &unreachable):
		return "UNREACHABLE"
	case errors.As(err, &late):
		return "LATE"
	}
	return "BROKEN"
}

func CountRefusal(err error) {
	var refused *plan.RefusedError
	if errors.As(err, &refused) {
		metrics.RefusedPlansTotal.WithLabelValues(string(refused.Reason)).Inc()
	}
}

const (
	// maxSolvedStates is how many states are remembered. More than one, since a cluster may alternate between a few.
	maxSolvedStates = 32
	// provedFor is how long a proof is relied upon: a plugin of the profile may depend on what no snapshot contains.
	provedFor = 10 * time.Minute
	// UnprovedFor is the same for a search that found nothing in time. Another search may find something.
	UnprovedFor = time.Minute
)

// refusalTTL is how long a refusal of the profile's plugins is assumed to hold. It may depend on anything, so nothing
// shows when it ends.
const refusalTTL = 30 * time.Second
