package priorityoptimizer

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/packingplan"
)

const (
	// idleTick is how often the state machine runs although nothing happened.
	idleTick = time.Second
	// firstTick is the interval until the plans of former processes are known.
	firstTick = 20 * time.Millisecond
	// executingTick is the interval while a plan is being carried out, or untried pods wait for a solve.
	executingTick = 100 * time.Millisecond
	// coalescing is how long the loop waits for further events of the active plan before it handles them.
	coalescing = 20 * time.Millisecond
)

// loop owns the state machine Idle, Settling, Solving, Executing. Everything in it belongs to
// the one goroutine that runs it.
type loop struct {
	*Plugin
	args     *PriorityOptimizerArgs
	clock    clock.WithDelayedExecution
	solver   solver
	evictor  evictor
	store    *packingplan.Store
	informer cache.SharedIndexInformer
	recorder events.EventRecorderLogger

	// leadingSince is when this process began to lead; zero before. It may have lost the lead since.
	leadingSince time.Time
	solvedStates solvedStates
	refusalCache refusalCache
	records      records
	// unwritten are the plans that have ended and whose final status has not been written yet.
	unwritten []*packingplan.Record
	// writeError is why not; each error is logged once.
	writeError string
	// active is the plan being carried out; nil otherwise.
	active *activePlan
	// activeSolve is the solve under way; nil otherwise. The informer reads it.
	activeSolve atomic.Pointer[activeSolve]
	// pruned is when pods that no longer exist were last removed from the held sets.
	pruned time.Time
	// manualLast says that the last solve was a user's, so that users' plans do not starve the automatic ones.
	manualLast bool
	solves     int
	// hasRead says that the cluster was read ahead of the solve that comes next.
	hasRead bool
	// statusBytes is what the status of a plan may take.
	statusBytes int
	// nonce distinguishes the snapshots of two processes.
	nonce string
}

func newLoop(p *Plugin, args *PriorityOptimizerArgs, handle fwk.Handle, with parts) *loop {
	l := &loop{
		Plugin:   p,
		args:     args,
		clock:    with.clock,
		solver:   with.solver,
		evictor:  evictor{with.evictions, p.view.pods, p.view.protected},
		store:    packingplan.NewStore(with.dynamic),
		informer: with.plans,
		recorder: handle.EventRecorder(),
		records:  newRecords(),
		nonce:    newNonce(),

		statusBytes: with.statusBytes,
	}
	l.watchPlans()
	return l
}

// run works until the context ends.
func (l *loop) run(ctx context.Context) {
	if l.args.Mode != ModeManual {
		l.logger.Info("Waiting for pods that cannot be scheduled", "mode", l.args.Mode, "socket", l.args.Socket)
	}
	defer l.hold.end()
	for {
		timer := l.clock.NewTimer(l.step(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.wake:
			timer.Stop()
			l.coalesce(ctx)
		case <-timer.C():
		}
	}
}

// coalesce waits for further events while a plan is carried out: each of its pods causes several.
func (l *loop) coalesce(ctx context.Context) {
	if l.active == nil {
		return
	}
	timer := l.clock.NewTimer(coalescing)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
	select {
	case <-l.wake:
	default:
	}
}

// step does what is due and returns the longest time until the next step.
func (l *loop) step(ctx context.Context) time.Duration {
	heldPods.Set(float64(l.hold.held.size() + l.awaitingSolve.size() + l.batch.size()))
	if l.standBy(ctx) {
		return idleTick
	}
	if !l.writeFinalStatuses(ctx) {
		return executingTick
	}
	l.wakeWaiting()
	if l.active == nil {
		l.startDue(ctx)
	}
	if l.active != nil {
		l.advance(ctx)
	}
	if l.active != nil {
		return executingTick
	}
	return l.untilDue()
}

// wakeWaiting activates the pods whose first activation was lost. Pods that a plan keeps out wait for its end.
func (l *loop) wakeWaiting() {
	if l.clock.Since(l.pruned) >= idleTick {
		l.pruned = l.clock.Now()
		for _, held := range []*heldSet{l.hold.held, l.awaitingSolve, l.keptOut} {
			held.keepOnly(l.view.exists)
		}
	}
	if !l.hold.active() {
		l.activate(l.hold.held.all())
		l.releaseAwaiting()
	}
	if l.active == nil {
		l.activate(l.keptOut.all())
	}
}

// startDue starts the solve that is due: users' plans first.
func (l *loop) startDue(ctx context.Context) {
	if !l.leads.Load() {
		return
	}
	if l.leadingSince.IsZero() {
		l.startUp(ctx)
		if l.leadingSince.IsZero() && l.isDue() {
			l.scheduleWithoutPlan("plans cannot be watched; is the PackingPlan CRD installed?", anyPod)
		}
		return
	}
	all := l.allRecords()
	if l.takeOver(ctx, all) {
		return
	}
	l.abortWaiting(ctx, all)
	if record := l.nextApproved(all); record != nil {
		l.executeApproved(ctx, record)
		return
	}
	manual := l.nextManual(ctx, all)
	if l.isDue() && (manual == nil || l.manualLast) {
		l.manualLast = false
		l.solveAutomatic(ctx)
	} else if manual != nil {
		l.manualLast = true
		l.solveManual(ctx, manual)
	} else if l.isSettling() && !l.hasRead {
		l.hasRead = true
		l.readAhead()
	}
}

// isSettling says whether a solve is due soon.
func (l *loop) isSettling() bool {
	at, ok := l.trigger.due()
	return ok && at.Sub(l.clock.Now()) <= settleAtMost*l.trigger.settle
}

func (l *loop) isDue() bool {
	at, ok := l.trigger.due()
	return ok && !l.clock.Now().Before(at)
}

// startUp is the first step of a process that begins to schedule.
func (l *loop) startUp(ctx context.Context) {
	if !l.informer.HasSynced() {
		return
	}
	l.leadingSince = l.clock.Now()
	if l.takeOver(ctx, l.allRecords()) && l.active == nil {
		l.hold.begin(takeOverTimeout)
	} else {
		l.hold.end()
	}
	if l.active != nil {
		return
	}
	l.readAhead()
}

// readAhead takes a snapshot and discards it, which fills the snapshot cache. The snapshot of the solve, for which pods
// are held back, then only has to read the objects that have changed since. On a large cluster that is several times as
// fast.
func (l *loop) readAhead() {
	if _, err := l.view.snapshot(""); err != nil {
		l.logger.Error(err, "No snapshot")
	}
}

func (l *loop) untilDue() time.Duration {
	if l.leads.Load() && l.leadingSince.IsZero() {
		return firstTick
	}
	tick := idleTick
	if l.awaitingSolve.size() > 0 {
		tick = executingTick
	}
	at, ok := l.trigger.due()
	if !ok {
		return tick
	}
	return max(0, min(tick, at.Sub(l.clock.Now())))
}

// planLogger adds the plan's name to every line.
func (l *loop) planLogger(record *packingplan.Record) klog.Logger {
	return l.logger.WithValues("plan", record.Name())
}
