// Package execution carries plans out: it evicts pods, and keeps pods off the nodes that are to be emptied.
package execution

import (
	"context"

	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/resources"
)

// Runner carries out the plans of one profile. The loop alone uses it.
type Runner struct {
	Log     klog.Logger
	Args    *config.PriorityOptimizerArgs
	Clock   clock.PassiveClock
	View    *clusterview.View
	Records *records.Plans
	Gate    *gate.Gate
	// Client is for evictions and for marks on nodes.
	Client clientset.Interface
	// AtOnce bounds the concurrent eviction calls.
	AtOnce int
	// Free is the room on the nodes, pods whose binding is under way counted.
	Free func(ctx context.Context, nodes ...string) (map[string]resources.Vector, error)
}

func (r *Runner) marks() NodeMarks { return NodeMarks{r.Client, r.Clock.Now} }
