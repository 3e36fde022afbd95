package execution

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// closedNodes are the idle nodes of the scope of a plan whose pods another scheduler places. They have the taint while the
// plan is carried out: most schedulers like an idle node best, and then nothing would be saved. As soon as somebody waits
// who did not wait before, all of them are open again.
type closedNodes struct {
	*emptying
	scope snapshot.Scope
	// since is when they were closed; zero before.
	since time.Time
	names []string
}

// advance closes the nodes, or opens them again for a pod that waits.
func (c *closedNodes) advance(ctx context.Context, now time.Time) {
	if c.since.IsZero() {
		c.since = now
		c.close(ctx)
	}
	if len(c.names) == 0 {
		return
	}
	if waiting := c.View.WaitingSince(c.since); waiting != nil {
		c.Records.Logger(c.record).Info("Idle nodes are open again, since a pod waits", "pod", klog.KObj(waiting))
		c.open(ctx)
	}
}

// close keeps new pods off them. One that cannot be marked stays open: the plan is less sure then.
func (c *closedNodes) close(ctx context.Context) {
	nodes, _ := c.View.Nodes.List(labels.Everything()) // a lister fails only where there is none
	for _, node := range nodes {
		if node.Spec.Unschedulable || markOf(node) != "" || c.scope.Nodes != nil && !c.scope.Nodes.Matches(labels.Set(node.Labels)) ||
			c.record.Status.Consolidation.Of(node.Name) != nil || len(c.View.Lasting(node.Name)) > 0 {
			continue
		}
		if err := c.marks().close(ctx, c.record, node.Name); err != nil {
			c.Records.Logger(c.record).Error(err, "An idle node stays open", "node", node.Name)
			continue
		}
		c.names = append(c.names, node.Name)
	}
}

// open lets pods go to them again. One for which that fails is given back as soon as the plan has ended.
func (c *closedNodes) open(ctx context.Context) {
	for _, name := range c.names {
		if err := c.marks().release(ctx, c.record.Name(), name); err != nil {
			c.Records.Logger(c.record).Error(err, "An idle node could not be opened yet", "node", name)
			c.Records.StaleMarks = true
		}
	}
	c.names = nil
}
