package priorityoptimizer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// readyTimeout bounds the check whether the optimiser is reachable and healthy. One that is not there is known at once;
	// one that is there may take seconds to answer on a busy machine.
	readyTimeout = 5 * time.Second
	// pauseFactor is the pause after a solve, in multiples of the time that this process itself spent on it: a large
	// cluster must not spend its scheduler's time on snapshots.
	pauseFactor = 10
)

// planner looks for plans. The loop alone uses it, but for active.
type planner struct {
	plugin  *Plugin
	args    *PriorityOptimizerArgs
	clock   clock.WithDelayedExecution
	solver  solver
	records *planRecords
	// client asks about replacements, beside the rate limit of bindings.
	client clientset.Interface
	// statusBytes is what the status of a plan may take.
	statusBytes int

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

// activeSolve is the solve under way.
type activeSolve struct {
	plan   types.UID
	cancel context.CancelCauseFunc
}

// errAborted ends the solve of a plan that its user aborts.
var errAborted = errors.New(messageAborted)

// cancelIfAborted ends the solve of the given plan if its user aborts it. While the loop waits for the optimiser it
// handles no events, so the informer's handler calls this.
func (p *planner) cancelIfAborted(object any) {
	shown, ok := object.(*packingplan.Record)
	if now := p.active.Load(); ok && now != nil && shown.UID() == now.plan && shown.Spec.Abort {
		now.cancel(errAborted)
	}
}

// limitOf is the time limit that the plan asks for, up to the profile's maximum.
func (p *planner) limitOf(record *packingplan.Record) time.Duration {
	if record.Spec.TimeLimitSeconds != nil {
		return seconds(min(*record.Spec.TimeLimitSeconds, p.args.MaxTimeLimitSeconds))
	}
	return seconds(p.args.TimeLimitSeconds)
}

func (p *planner) policy() plan.Policy {
	if p.args.Policy == PolicyPaper {
		return plan.Paper
	}
	return plan.Strict
}

func (p *planner) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return p.solver.Ready(ctx)
}

// solveFilter selects the pods of a solve. A solve that the scheduler started itself leaves unmarked pods to the
// scheduler: in a plan they would have to wait, while they may find room at once without it.
func (p *planner) solveFilter(record *packingplan.Record) func(*v1.Pod) bool {
	if !record.Ours() {
		return anyPod
	}
	return p.plugin.Trigger.IsMarked()
}

// isKnown says whether no pod waits for a node, or the state is remembered as one that allows no improvement. The solve
// does not use its snapshot: pods are bound until the hold begins, and the plan would be for an outdated state.
func (p *planner) isKnown() bool {
	if len(p.solvedStates.Keys()) == 0 && p.plugin.Trigger.All().Len() > 0 {
		return false
	}
	began := p.clock.Now()
	defer func() { p.plugin.Trigger.Pause(pauseFactor * p.clock.Since(began)) }()
	state, err := p.plugin.view.snapshotUnder(p.plugin.view.rules, "", p.plugin.Trigger.IsMarked())
	if err != nil {
		p.plugin.logger.Error(err, "No snapshot")
		p.plugin.Trigger.Failed()
		return true
	}
	p.plugin.Trigger.KeepOnly(func(uid types.UID) bool { return state.Pods[uid] != nil })
	if state.Pending() == 0 {
		return true
	}
	// What is proved for a state without temporarily protected pods also holds for the same state with them.
	_, known := p.solvedStates.Get(state.Fingerprint())
	session := &solveSession{planner: p, record: &packingplan.Record{}, snapshot: state, history: p.records.history()}
	session.applyConstraints()
	if !known {
		_, known = p.solvedStates.Get(state.Fingerprint())
	}
	if !known {
		return false
	}
	if !session.nextChange.IsZero() {
		p.plugin.Trigger.RetryAt(session.nextChange)
	}
	return true
}

func policyMessage(policy Policy) contract.Policy {
	if policy == PolicyPaper {
		return contract.Policy_POLICY_PAPER
	}
	return contract.Policy_POLICY_STRICT
}

func failureLabel(err error) string {
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

func countRefusal(err error) {
	var refused *plan.RefusedError
	if errors.As(err, &refused) {
		refusedPlansTotal.WithLabelValues(string(refused.Reason)).Inc()
	}
}

const (
	// maxSolvedStates is how many states are remembered. More than one, since a cluster may alternate between a few.
	maxSolvedStates = 32
	// provedFor is how long a proof is relied upon: a plugin of the profile may depend on what no snapshot contains.
	provedFor = 10 * time.Minute
	// unprovedFor is the same for a search that found nothing in time. Another search may find something.
	unprovedFor = time.Minute
)

// refusalTTL is how long a refusal of the profile's plugins is assumed to hold. It may depend on anything, so nothing
// shows when it ends.
const refusalTTL = 30 * time.Second
