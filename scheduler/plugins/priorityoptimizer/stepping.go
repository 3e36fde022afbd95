package priorityoptimizer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

// World is what a plugin works in whose time passes as its program says.
type World struct {
	Clock clock.WithDelayedExecution
	// Dynamic writes PackingPlans, which Plans shows; the caller runs it.
	Dynamic dynamic.Interface
	Plans   cache.SharedIndexInformer
	// Client is for evictions and for marks on nodes.
	Client clientset.Interface
	// Process is in the names of what it makes, in place of something random.
	Process string
}

// NewStepped returns the plugin of one profile, in whose place Step is called. It does one thing after the other, so that
// what comes of it depends on nothing but what it is told.
func NewStepped(ctx context.Context, object runtime.Object, handle fwk.Handle, in World) (*Plugin, error) {
	args, err := config.Decode(object)
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, args)
	if err != nil {
		return nil, err
	}
	p, err := assemble(ctx, args, handle, parts{clock: in.Clock, dynamic: in.Dynamic, plans: in.Plans, evictions: in.Client,
		solver: client, statusBytes: records.MaxStatusBytes, byHand: true})
	if err == nil {
		p.byHand.stepAlike(in.Process)
	}
	return p, err
}

// stepAlike leaves nothing to chance.
func (l *loop) stepAlike(process string) {
	l.runner.AtOnce = 1
	l.records.Nonce = process
	plans := 0
	l.records.Store.Suffix = func(length int) string {
		plans++
		return fmt.Sprintf("%s-%0*d", process, length, plans)
	}
}

// Ready fails unless the optimiser can be asked.
func (p *Plugin) Ready(ctx context.Context) error { return p.byHand.planner.Ready(ctx) }

// Step does what is due and returns the longest time until the next step.
func (p *Plugin) Step(ctx context.Context) time.Duration {
	p.TakeWake()
	return p.byHand.step(ctx)
}

// TakeWake says whether anything has happened since the last call that a step should look at.
func (p *Plugin) TakeWake() bool {
	select {
	case <-p.Wake:
		return true
	default:
		return false
	}
}

// CoolDown is how long the profile leaves a workload alone whose pod was moved.
func (p *Plugin) CoolDown() time.Duration { return config.Seconds(p.byHand.args.CoolDownSeconds) }
