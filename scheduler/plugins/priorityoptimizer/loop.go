package priorityoptimizer

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

const (
	// idleTick is how often the state machine runs although nothing happened.
	idleTick = time.Second
	// firstTick is the interval until the plans of former processes are known.
	firstTick = 20 * time.Millisecond
	// executingTick is the interval while a plan is carried out or closed, or untried pods wait for a solve.
	executingTick = 100 * time.Millisecond
	// coalescing is how long the loop waits for further events of the active plan before it handles them.
	coalescing = 20 * time.Millisecond
)

// state is what the loop is doing.
//
//	standingBy -> starting                          the process begins to schedule
//	starting   -> idle, executing                   the plans of former processes are known; one is resumed
//	idle       -> settling -> solving               pods turn out unschedulable, and no further ones do for a while
//	idle, settling, backingOff -> solving           a user asks for a plan, or approves one
//	solving    -> executing, idle, backingOff       there is a plan to carry out; there is none; the optimiser failed
//	executing  -> idle, settling, backingOff        the plan is completed; pods are left; it was aborted
//	any        -> closing                           a plan has ended, and its final status is not written yet
//	any        -> standingBy                        another process leads
type state string

const (
	// standingBy: another process schedules, or this one has not begun to.
	standingBy state = "StandingBy"
	// starting: this process schedules, and does not know yet what former ones have left open.
	starting state = "Starting"
	// idle: no pod waits for a solve.
	idle state = "Idle"
	// settling: pods wait for a solve, which starts once no further ones turn out unschedulable.
	settling state = "Settling"
	// backingOff: pods wait for a solve, which former ones put off: they failed, found nothing or took long.
	backingOff state = "BackingOff"
	// solving: a plan is looked for, checked and started. It is left within the step in which it was entered.
	solving state = "Solving"
	// executing: a plan is carried out.
	executing state = "Executing"
	// closing: plans have ended whose final status the API server has not accepted yet. Nothing else is done meanwhile.
	closing state = "Closing"
)

// loop owns the state machine. Everything in it belongs to the one goroutine that runs it.
type loop struct {
	plugin  *Plugin
	args    *config.PriorityOptimizerArgs
	clock   clock.WithDelayedExecution
	records *records.Plans
	planner *planning.Planner
	// runner carries plans out.
	runner *execution.Runner

	state state
	// placing is the plan being carried out whose pods this scheduler places; nil otherwise.
	placing *execution.ActivePlan
	// drain is the plan being carried out whose pods another scheduler places; nil otherwise. It takes long and holds
	// nothing, so all else goes on beside it.
	drain *execution.ActivePlan
	// leadingSince is when this process began to lead; zero before. It may have lost leadership since.
	leadingSince time.Time
	// manualLast says that the last solve was a user's, so that users' plans do not starve the automatic ones.
	manualLast bool
	// hasRead says that the cluster was read ahead of the solve that comes next.
	hasRead bool
	// letGo ends that the pods wait of the plan that is undecided: it may be resumed or not. It is nil if none do.
	letGo     func()
	undecided types.UID
}

func newLoop(p *Plugin, args *config.PriorityOptimizerArgs, handle fwk.Handle, with parts) *loop {
	plans := &records.Plans{Log: p.logger, Clock: with.Clock, Store: packingplan.NewStore(with.Dynamic), Informer: with.Plans,
		Recorder: handle.EventRecorder(), Leadership: &p.leadership, View: p.view, Ledger: with.Ledger, ReleaseHeld: p.Hold.End,
		Nonce: rand.String(6), HistoryLimit: int(args.HistoryLimit), CoolDown: config.Seconds(args.CoolDownSeconds)}
	plans.Forget()
	planner := &planning.Planner{Args: args, Clock: with.Clock, Solver: with.solver, Records: plans, View: p.view,
		Trigger: p.Trigger, Rehearser: &p.rehearser, Client: with.Client, StatusBytes: with.statusBytes}
	planner.Forget()
	plans.Watch(func(object any) {
		planner.CancelIfAborted(object)
		p.WakeUp()
	})
	return &loop{plugin: p, args: args, clock: with.Clock, records: plans, planner: planner, state: standingBy,
		runner: &execution.Runner{Log: p.logger, Args: args, Clock: with.Clock, View: p.view, Records: plans, Gate: p.Gate,
			Client: with.Client, AtOnce: execution.EvictionsAtOnce, Room: p.room}}
}

// next is the state that follows from who leads, which plans are open, and what is due.
func (l *loop) next() state {
	switch {
	case !l.plugin.leadership.Held.Load():
		return standingBy
	case len(l.records.Unwritten) > 0:
		return closing
	case l.placing != nil:
		return executing
	case l.leadingSince.IsZero():
		return starting
	}
	if _, due := l.plugin.Trigger.Due(); !due {
		return idle
	}
	if l.plugin.Trigger.IsPutOff() {
		return backingOff
	}
	return settling
}

// update moves on to the next state.
func (l *loop) update() state {
	l.enter(l.next())
	return l.state
}

func (l *loop) enter(now state) {
	if now != l.state {
		l.plugin.logger.V(4).Info("State of the plugin", "was", l.state, "is", now)
	}
	l.state = now
}

// run works until the context ends.
func (l *loop) run(ctx context.Context) {
	if l.args.Trigger != gate.Manual {
		l.plugin.logger.Info("Waiting for pods that cannot be scheduled", "trigger", l.args.Trigger, "socket", l.args.Socket)
	}
	defer l.plugin.Hold.End()
	for {
		timer := l.clock.NewTimer(l.step(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.plugin.Wake:
			timer.Stop()
			l.coalesce(ctx)
		case <-timer.C():
		}
	}
}

// coalesce waits for further events while a plan is carried out: each of its pods causes several.
func (l *loop) coalesce(ctx context.Context) {
	if l.state != executing {
		return
	}
	timer := l.clock.NewTimer(coalescing)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
	l.plugin.TakeWake()
}

// step does what is due and returns the longest time until the next step.
func (l *loop) step(ctx context.Context) time.Duration {
	l.measure()
	if l.update() == closing {
		l.records.WriteFinalStatuses(ctx)
		l.update()
	}
	switch l.state {
	case standingBy:
		l.standBy(ctx)
		return idleTick
	case closing:
		return executingTick
	}
	l.plugin.Release()
	if l.placing == nil && l.drain == nil {
		l.runner.ReleaseStale(ctx)
	}
	switch l.state {
	case starting:
		l.startUp(ctx)
	case idle, settling, backingOff:
		l.startDue(ctx)
	}
	for _, open := range []**execution.ActivePlan{&l.placing, &l.drain} {
		if *open == nil {
			continue
		}
		if end := (*open).Advance(ctx); end != nil {
			l.endPlan(ctx, open, end)
		}
	}
	l.update()
	return l.tick()
}

// measure shows how many pods are held, and since when a plan has been open.
func (l *loop) measure() {
	p := l.plugin
	metrics.HeldPods.Set(float64(p.Waiting.Count(
		gate.ReasonHeld, gate.ReasonInSolve, gate.ReasonUndecided, gate.ReasonNextSolve, gate.ReasonBatch)))
	var open *packingplan.Record
	if l.placing != nil {
		open = l.placing.Record
	} else if l.drain != nil {
		open = l.drain.Record
	} else if len(l.records.Unwritten) > 0 {
		open = l.records.Unwritten[0]
	}
	if open == nil || open.Status.StartTime == nil {
		metrics.OpenPlanStart.Set(0)
		return
	}
	metrics.OpenPlanStart.Set(float64(open.Status.StartTime.Unix()))
}

// tick is how long nothing is done in the present state unless something happens.
func (l *loop) tick() time.Duration {
	switch l.state {
	case starting:
		return firstTick
	case executing, closing, standingBy: // a process that has just lost leadership drops its plans
		return executingTick
	}
	tick := idleTick
	if l.letGo != nil || l.plugin.Waiting.Count(gate.ReasonInSolve, gate.ReasonNextSolve) > 0 || l.drain != nil {
		tick = executingTick
	}
	if at, due := l.plugin.Trigger.Due(); due {
		return max(0, min(tick, at.Sub(l.clock.Now())))
	}
	return tick
}

// standBy drops the plans of a process that has lost leadership. The scheduler may have got the lease back before it
// noticed the loss: then the process starts leading anew.
func (l *loop) standBy(ctx context.Context) {
	if l.leadingSince.IsZero() {
		return
	}
	if l.placing != nil {
		l.dropExecution(l.placing.Record)
	}
	l.placing, l.drain = nil, nil
	l.keepBack(nil)
	l.records.Unwritten = nil
	if l.plugin.leadership.Check(ctx) != nil {
		return
	}
	l.plugin.logger.Info("Leading again")
	l.leadingSince = time.Time{}
	l.records.Forget()
	l.plugin.StartLeading()
}

// startUp is the first step of a process that begins to schedule, once it knows the plans.
func (l *loop) startUp(ctx context.Context) {
	if !l.records.Informer.HasSynced() {
		if l.plugin.Trigger.IsDue() {
			l.plugin.ReleaseWithoutPlan("plans cannot be watched; is the PackingPlan CRD installed?", clusterview.AnyPod)
		}
		return
	}
	l.leadingSince = l.clock.Now()
	l.records.StaleMarks = true
	if l.takeOver(ctx, l.records.All()) && l.placing == nil {
		l.plugin.Hold.Begin(takeOverTimeout)
	} else {
		l.plugin.Hold.End()
	}
	if l.placing == nil {
		l.readAhead()
	}
}

// startDue starts the solve that is due: users' plans first.
func (l *loop) startDue(ctx context.Context) {
	all := l.records.All()
	if l.takeOver(ctx, all) {
		return
	}
	l.records.AbortWaiting(ctx, all)
	if record := l.records.NextApproved(all, l.mustWait); record != nil {
		l.executeApproved(ctx, record)
		return
	}
	manual := l.records.NextManual(ctx, all, l.mustWait)
	if l.plugin.Trigger.IsDue() && (manual == nil || l.manualLast) {
		l.manualLast = false
		l.solveAutomatic(ctx)
	} else if manual != nil {
		l.manualLast = true
		l.solveManual(ctx, manual)
	} else if l.plugin.Trigger.IsDueSoon() && !l.hasRead {
		l.hasRead = true
		l.readAhead()
	}
}

// mustWait says that a user's plan has to wait: nodes are emptied for one plan at a time.
func (l *loop) mustWait(record *packingplan.Record) bool {
	return l.drain != nil && record.Consolidates()
}

// readAhead takes a snapshot and discards it, which fills the snapshot cache. The snapshot of the solve, for which pods
// are held back, then only has to read the objects that have changed since. On a large cluster that is several times as
// fast.
func (l *loop) readAhead() { l.plugin.view.Snapshot("") }

// dropExecution ends the execution of a plan, whether or not the plan goes on.
func (l *loop) dropExecution(of *packingplan.Record) *executor.Execution {
	defer l.records.Ledger.DropExecution(of.UID())
	return l.plugin.Execution.Swap(nil)
}

// endPlan releases everything that the plan held.
func (l *loop) endPlan(ctx context.Context, open **execution.ActivePlan, end *records.Ending) {
	done := *open
	*open = nil
	var waiting map[string]*v1.Pod
	if open == &l.placing {
		waiting = l.dropExecution(done.Record).Waiting()
	}
	done.Conclude(ctx, end)
	switch {
	case done.Record.Consolidates():
		l.plugin.Trigger.Retry() // there may be room elsewhere by now
	case end.Phase != packingplan.Completed:
		l.plugin.Trigger.Failed()
	case done.Proof != "":
		l.planner.Proved(done.Proof)
		l.plugin.Trigger.Succeeded()
		if !done.NextChange.IsZero() {
			l.plugin.Trigger.RetryAt(done.NextChange)
		}
	default:
		l.plugin.Trigger.Succeeded()
		l.plugin.Trigger.Retry()
	}
	// Those that the plan took off their nodes come first: their room is still there. If it was in vain, others that have
	// waited for the end of the plan come with the next step.
	l.plugin.Activate(waiting)
	if end.Phase == packingplan.Completed || len(waiting) == 0 {
		l.plugin.Release()
	}
	l.records.Finish(ctx, done.Record, end.Phase, end.Message)
}
