package execution

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

// emptying are the nodes of a plan that consolidates, while it is carried out.
type emptying struct {
	*Runner
	record *packingplan.Record
	// marked: all nodes that are to be emptied keep new pods off.
	marked bool
	// open are the nodes on which it is not written yet how they ended.
	open []string
	// shown are the nodes as they were last shown in the status.
	shown []packingplan.NodeToEmpty
}

func (r *Runner) emptying(record *packingplan.Record) *emptying {
	about := record.Status.Consolidation
	return &emptying{Runner: r, record: record, open: about.OpenNodes(), shown: slices.Clone(about.Nodes)}
}

// changed says whether any node's state has changed since the last call.
func (e *emptying) changed() bool {
	now := e.record.Status.Consolidation.Nodes
	if slices.Equal(e.shown, now) {
		return false
	}
	e.shown = slices.Clone(now)
	return true
}

// begin keeps new pods off all nodes that are to be emptied. No pod leaves before it is ready; end is why it never will be.
func (e *emptying) begin(ctx context.Context) (end *records.Ending, ready bool) {
	if e.marked {
		return nil, true
	}
	for _, name := range e.record.Status.Consolidation.OpenNodes() {
		switch err := e.marks().begin(ctx, e.record, name); {
		case err == nil:
		case isForbidden(err) || !records.IsTransient(err):
			return records.End(packingplan.Aborted, err.Error()), false
		default:
			e.Records.Logger(e.record).Error(err, "The nodes cannot be marked yet")
			return nil, false
		}
	}
	e.marked = true
	e.record.Status.Consolidation.CountSaving(true)
	return nil, true
}

// writeEnded writes on the nodes that have ended how they did.
func (e *emptying) writeEnded(ctx context.Context) {
	e.open = slices.DeleteFunc(e.open, func(name string) bool {
		node := e.record.Status.Consolidation.Of(name)
		if node.State.Open() {
			return false
		}
		var err error
		eventType, text := v1.EventTypeNormal, "emptied by plan "+e.record.Name()
		if node.State == packingplan.NodeEmptied {
			metrics.EmptiedNodesTotal.Inc()
			err = e.marks().complete(ctx, e.record, name)
		} else {
			eventType, text = v1.EventTypeWarning, "not emptied by plan "+e.record.Name()+": "+node.Message
			err = e.marks().release(ctx, e.record.Name(), name)
		}
		e.record.Status.Consolidation.CountSaving(true)
		if err != nil {
			e.Records.Logger(e.record).Error(err, "A node could not be marked yet", "node", name)
			e.Records.StaleMarks = true
		}
		if object, err := e.View.Nodes.Get(name); err == nil && e.Records.Recorder != nil {
			e.Records.Recorder.Eventf(object, e.record.Reference(), eventType, string(node.State), "Consolidate", "%s", packingplan.Shortened(text))
		}
		return true
	})
}

// settle ends the emptying: nodes without pods are emptied, all others are given back.
func (e *emptying) settle(ctx context.Context, why string) {
	for _, name := range e.record.Status.Consolidation.OpenNodes() {
		node := e.record.Status.Consolidation.Of(name)
		node.State = packingplan.NodeEmptied
		if stays := e.View.Lasting(name); len(stays) > 0 {
			node.State, node.Message = packingplan.NodeGivenUp, packingplan.Shortened(why+"; pod "+klog.KObj(stays[0]).String()+" is on it")
		}
	}
	e.writeEnded(ctx)
}

// CloseNodes settles the nodes of a plan that a former process was carrying out.
func (r *Runner) CloseNodes(ctx context.Context, record *packingplan.Record, why string) {
	if record.Status.Consolidation != nil {
		r.emptying(record).settle(ctx, why)
	}
}

// ReleaseStale gives back the nodes that keep pods off for a plan that is no longer carried out: its process died before
// it could, or the API server did not answer.
func (r *Runner) ReleaseStale(ctx context.Context) {
	if !r.Records.StaleMarks {
		return
	}
	r.Records.StaleMarks = false
	open := sets.New[string]()
	for _, record := range r.Records.All() {
		if record.Status.Phase == packingplan.Executing {
			open.Insert(packingplan.NameOnNodes(record.Name()))
		}
	}
	nodes, err := r.View.Nodes.List(labels.Everything())
	if err != nil {
		return
	}
	for _, node := range nodes {
		plan := markOf(node)
		if plan == "" || open.Has(plan) || node.Labels[packingplan.EmptiedLabel] == plan {
			continue
		}
		released, err := r.marks().ReleaseUnlessEmptied(ctx, plan, node.Name)
		switch {
		case released:
			r.Log.Info("Gave a node back that no plan empties any more", "node", node.Name, "plan", plan)
		case err != nil && !isForbidden(err):
			r.Records.StaleMarks = true
			r.Log.Error(err, "A node could not be given back yet", "node", node.Name)
			return
		}
	}
}

// isForbidden says that the scheduler may not do this at all.
func isForbidden(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsForbidden(err)
}

// markOf is the name of the plan for which the node keeps pods off, or "".
func markOf(node *v1.Node) string {
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == packingplan.EmptyingTaint {
			return node.Spec.Taints[i].Value
		}
	}
	return node.Annotations[packingplan.EmptyingTaint]
}
