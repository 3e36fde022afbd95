package priorityoptimizer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

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
	return assemble(ctx, args, handle, parts{in, client, records.MaxStatusBytes})
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
