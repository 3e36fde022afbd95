package priorityoptimizer

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/packingplan"
)

const (
	// idleTick is how often the state machine looks around although nothing happened.
	idleTick = time.Second
	// firstTick is the same until the plans of former processes are known.
	firstTick = 20 * time.Millisecond
	// executingTick is the same while a plan is being carried out.
	executingTick = 250 * time.Millisecond
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

	// began is when this process began to lead; zero before. It may have lost the lead since.
	began   time.Time
	memory  memory
	lessons lessons
	records records
	// ends are the plans that are over, which the API server has not been told yet.
	ends []*packingplan.Record
	// endsWait is why it has not, said once.
	endsWait string
	// current is the plan being carried out; nil otherwise.
	current *carrying
	solves  int
	// nonce tells the snapshots of two processes apart.
	nonce string
}

func newLoop(p *Plugin, args *PriorityOptimizerArgs, handle fwk.Handle, with parts) *loop {
	return &loop{
		Plugin:   p,
		args:     args,
		clock:    with.clock,
		solver:   with.solver,
		evictor:  evictor{handle.ClientSet()},
		store:    packingplan.NewStore(with.dynamic),
		informer: newPlanInformer(with.dynamic, p.wakeUp),
		recorder: handle.EventRecorder(),
		records:  newRecords(),
		nonce:    newNonce(),
	}
}

// run works until the context ends.
func (l *loop) run(ctx context.Context) {
	go l.informer.RunWithContext(ctx)
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
		case <-timer.C():
		}
	}
}

// step does what is due and returns when to look again at the latest.
func (l *loop) step(ctx context.Context) time.Duration {
	heldPods.Set(float64(l.hold.room.size() + l.batch.size()))
	if l.rest(ctx) {
		return idleTick
	}
	if !l.settleEnds(ctx) {
		return executingTick
	}
	if l.current == nil {
		l.wakeWaiting()
		l.startDue(ctx)
	}
	if l.current != nil {
		l.carryOn(ctx)
	}
	if l.current != nil {
		return executingTick
	}
	return l.untilDue()
}

// wakeWaiting wakes up pods whose first wake-up was lost.
func (l *loop) wakeWaiting() {
	l.activate(l.hold.room.all())
	l.activate(l.keptOut.all())
}

// startDue starts the solve that is due: users' plans first.
func (l *loop) startDue(ctx context.Context) {
	if !l.leads.Load() {
		return
	}
	if l.began.IsZero() {
		l.lookAround(ctx)
		if l.began.IsZero() && l.isDue() {
			l.letPass("plans cannot be watched; is the PackingPlan CRD installed?", everybody)
		}
		return
	}
	all := l.allRecords()
	if l.takeOver(ctx, all) {
		return
	}
	l.abortWaiting(ctx, all)
	if record := l.nextApproved(all); record != nil {
		l.carryOutApproved(ctx, record)
		return
	}
	if record := l.nextManual(all); record != nil {
		l.solveManual(ctx, record)
		return
	}
	if l.isDue() {
		l.solveAutomatic(ctx)
	}
}

func (l *loop) isDue() bool {
	at, ok := l.trigger.due()
	return ok && !l.clock.Now().Before(at)
}

// lookAround is the first thing a process does that begins to schedule.
func (l *loop) lookAround(ctx context.Context) {
	if !l.informer.HasSynced() {
		return
	}
	l.began = l.clock.Now()
	if l.takeOver(ctx, l.allRecords()) && l.current == nil {
		l.hold.begin(takeOverPatience)
		return
	}
	l.hold.end()
}

func (l *loop) untilDue() time.Duration {
	if l.leads.Load() && l.began.IsZero() {
		return firstTick
	}
	at, ok := l.trigger.due()
	if !ok {
		return idleTick
	}
	return max(0, min(idleTick, at.Sub(l.clock.Now())))
}

// planLogger names the plan in every line.
func (l *loop) planLogger(record *packingplan.Record) klog.Logger {
	return l.logger.WithValues("plan", record.Name())
}
