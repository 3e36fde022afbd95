package priorityoptimizer

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// solver is the optimiser as the plugin sees it.
type solver interface {
	Ready(ctx context.Context) error
	Solve(ctx context.Context, request *contract.SolveRequest, verify func(*contract.Plan) error) (*optimizerclient.Answer, error)
}

// rehearser tries a plan before anything is done.
type rehearser interface {
	Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error)
	// Empty tries what another scheduler would do.
	Empty(ctx context.Context, nodes []rehearsal.Emptied, closed []string, taint v1.Taint) (rehearsal.Drained, error)
	// Free is the room on the nodes, pods whose binding is under way counted.
	Free(ctx context.Context, nodes ...string) (map[string]resources.Vector, error)
}

// parts are the dependencies that tests replace.
type parts struct {
	clock   clock.WithDelayedExecution
	dynamic dynamic.Interface
	// plans shows the PackingPlans to all profiles; nil where there is no API server to keep them in.
	plans cache.SharedIndexInformer
	// evictions has a rate limit of its own: evictions must not wait for bindings, nor bindings for evictions.
	evictions clientset.Interface
	solver    solver
	// statusBytes is what the status of a plan may take.
	statusBytes int
	// byHand: somebody calls Step in the place of a goroutine of the plugin's own.
	byHand bool
}

// New returns the plugin of one profile. plans shows the PackingPlans to all profiles, and the caller runs it; it is nil
// where there is no API server.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle, plans cache.SharedIndexInformer) (fwk.Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	with := parts{clock: clock.RealClock{}, plans: plans, statusBytes: maxStatusBytes}
	if plans != nil {
		config := handle.KubeConfig()
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("%s: making a client for PackingPlans: %w", Name, err)
		}
		with.dynamic = client
		if with.evictions, err = newEvictionClient(config); err != nil {
			return nil, fmt.Errorf("%s: making a client for evictions: %w", Name, err)
		}
	}
	if with.solver, err = connect(ctx, args); err != nil {
		return nil, err
	}
	return assemble(ctx, args, handle, with)
}

// connect returns the optimiser, which need not be there yet.
func connect(ctx context.Context, args *PriorityOptimizerArgs) (solver, error) {
	client, err := optimizerclient.New(args.Socket)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	// A program may make one scheduler after the other, as tests do.
	context.AfterFunc(ctx, func() { _ = client.Close() })
	return client, nil
}

func assemble(ctx context.Context, args *PriorityOptimizerArgs, handle fwk.Handle, with parts) (*Plugin, error) {
	registerMetrics()
	logger := klog.FromContext(ctx).WithName(Name)
	p := &Plugin{
		handle:    handle,
		activator: handle,
		logger:    logger,
		trigger:   newTrigger(with.clock, paceOf(args)),
		inFlight:  newInFlight(),
		waiting:   waiting.Table{Clock: with.clock, Left: observeHeld},
		wake:      make(chan struct{}, 1),
	}
	p.lead.logger = logger
	longest := seconds(args.MaxHoldSeconds)
	p.hold = &hold{clock: with.clock, longest: longest, budget: time.Duration(args.MaxHoldShare * float64(holdWindow))}
	p.hold.released = func() {
		p.release()
		p.wakeUp()
	}
	p.view = newView(handle, args, p.inFlight)
	p.book = p.view.book
	p.view.now = with.clock.Now
	p.waiting.Waits = p.view.exists
	pods := handle.SharedInformerFactory().Core().V1().Pods().Informer()
	if err := indexPods(pods); err != nil {
		return nil, fmt.Errorf("%s: indexing pods: %w", Name, err)
	}
	p.view.indexed = pods.GetIndexer()
	if _, err := pods.AddEventHandler(p.podHandler()); err != nil {
		return nil, fmt.Errorf("%s: watching pods: %w", Name, err)
	}
	budgets := handle.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Informer()
	if _, err := budgets.AddEventHandler(p.budgetHandler()); err != nil {
		return nil, fmt.Errorf("%s: watching disruption budgets: %w", Name, err)
	}
	if err := p.watchAdmission(handle.SharedInformerFactory()); err != nil {
		return nil, err
	}
	if with.plans == nil {
		p.trigger.kind = TriggerManual
		logger.Info("No API server to keep PackingPlans in; scheduling continues without the optimiser")
		return p, nil
	}
	loop := newLoop(p, args, handle, with)
	if with.byHand {
		p.byHand = loop
		return p, nil
	}
	go loop.run(klog.NewContext(ctx, logger))
	return p, nil
}

// Attach hands over what the plugin needs of the complete scheduler. Without a framework to rehearse plans in, no plan
// is made. The ledger holds the room of plans; it is nil where no profile has reservations. The lease is nil where no
// other process can lead.
func (p *Plugin) Attach(to *rehearsal.Framework, ledger *reservation.Ledger, lease *leadership.Lease) {
	var replaying rehearser = to
	p.rehearser.Store(&replaying)
	p.ledger.Store(ledger)
	p.lead.lease.Store(lease)
	if ledger != nil {
		p.view.held, p.view.ownerLabels = ledger.HeldByNode, ledger.OwnerLabels
	}
}

// podHandler updates the plugin's state when pods are bound or gone. It wakes up the loop only for the pods of the
// active plan.
func (p *Plugin) podHandler() cache.ResourceEventHandler {
	changed := func(pod *v1.Pod) {
		p.inFlight.seen(pod)
		if pod.Spec.NodeName != "" { // another process may have bound it
			p.trigger.unmark(pod.UID)
			p.waiting.Remove(pod.UID)
		}
		if execution := p.execution.Load(); execution != nil && execution.Concerns(pod) {
			execution.Note(pod)
			p.wakeUp()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if pod, ok := object.(*v1.Pod); ok {
				changed(pod)
			}
		},
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*v1.Pod); ok {
				changed(pod)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := customobject.LastKnown(object).(*v1.Pod); ok {
				p.forget(pod.UID)
				if execution := p.execution.Load(); execution != nil && execution.Concerns(pod) {
					execution.Forget(pod)
					p.wakeUp()
				}
			}
		},
	}
}

// budgetHandler asks for another solve when a budget lets more pods go than before: no other plugin reacts to budgets, so the waiting pods would not be tried again.
func (p *Plugin) budgetHandler() cache.ResourceEventHandler {
	again := func() {
		p.trigger.retry()
		p.wakeUp()
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, object any) {
			before, known := old.(*policyv1.PodDisruptionBudget)
			now, ok := object.(*policyv1.PodDisruptionBudget)
			if known && ok && snapshot.LetsMoreGo(before, now) {
				again()
			}
		},
		DeleteFunc: func(any) { again() },
	}
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }
