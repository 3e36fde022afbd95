package priorityoptimizer

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// emptying are the nodes of a plan that consolidates, while it is carried out.
type emptying struct {
	marks   nodeMarks
	view    *view
	records *planRecords
	record  *packingplan.Record
	// marked: all nodes that are to be emptied keep new pods off.
	marked bool
}

// begin keeps new pods off all nodes that are to be emptied. No pod leaves before it is ready; end is why it never will be.
func (e *emptying) begin(ctx context.Context) (end *ending, ready bool) {
	if e.marked {
		return nil, true
	}
	for _, name := range e.record.Status.Consolidation.OpenNodes() {
		switch err := e.marks.begin(ctx, e.record, name); {
		case err == nil:
		case isForbidden(err) || !isTransient(err):
			return &ending{packingplan.Aborted, err.Error()}, false
		default:
			e.records.logger(e.record).Error(err, "The nodes cannot be marked yet")
			return nil, false
		}
	}
	e.marked = true
	e.record.Status.Consolidation.CountSaving(true)
	return nil, true
}

// set writes on a node, and into the status, how it ended.
func (e *emptying) set(ctx context.Context, name string, state packingplan.NodeState, message string) {
	node := e.record.Status.Consolidation.Of(name)
	node.State, node.Message = state, packingplan.Shortened(message)
	var err error
	kind, text := v1.EventTypeNormal, "emptied by plan "+e.record.Name()
	if state == packingplan.NodeEmptied {
		emptiedNodesTotal.Inc()
		err = e.marks.complete(ctx, e.record, name)
	} else {
		kind, text = v1.EventTypeWarning, "not emptied by plan "+e.record.Name()+": "+node.Message
		err = e.marks.release(ctx, e.record.Name(), name)
	}
	e.record.Status.Consolidation.CountSaving(true)
	if err != nil {
		e.records.logger(e.record).Error(err, "A node could not be marked yet", "node", name)
		e.records.staleMarks = true
	}
	if object, err := e.view.nodes.Get(name); err == nil && e.records.recorder != nil {
		e.records.recorder.Eventf(object, e.record.Reference(), kind, string(state), "Consolidate", "%s", packingplan.Shortened(text))
	}
}

// settle ends the emptying: nodes without pods are emptied, all others are given back.
func (e *emptying) settle(ctx context.Context, why string) {
	for _, name := range e.record.Status.Consolidation.OpenNodes() {
		if stays := e.view.lasting(name); len(stays) == 0 {
			e.set(ctx, name, packingplan.NodeEmptied, "")
		} else {
			e.set(ctx, name, packingplan.NodeGivenUp, why+"; pod "+podName(stays[0])+" is on it")
		}
	}
}

// closeNodes settles the nodes of a plan that a former process was carrying out.
func (l *loop) closeNodes(ctx context.Context, record *packingplan.Record) {
	if record.Status.Consolidation != nil {
		nodes := &emptying{marks: l.marks, view: l.plugin.view, records: l.records, record: record}
		nodes.settle(ctx, messageRestarted)
	}
}

// count is how many nodes of the plan are in a state.
func (e *emptying) count(state packingplan.NodeState) (count int) {
	for i := range e.record.Status.Consolidation.Nodes {
		if e.record.Status.Consolidation.Nodes[i].State == state {
			count++
		}
	}
	return count
}

// lasting are the pods on a node that would not go with it. The index never fails.
func (v *view) lasting(node string) (pods []*v1.Pod) {
	objects, _ := v.indexed.ByIndex(nodeIndex, node)
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok && !podutil.IsPodTerminal(pod) && !snapshot.GoesWithItsNode(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// releaseStale gives back the nodes that keep pods off for a plan that is no longer carried out: its process died before
// it could, or the API server did not answer.
func (l *loop) releaseStale(ctx context.Context) {
	if !l.records.staleMarks {
		return
	}
	l.records.staleMarks = false
	open := sets.New[string]()
	for _, record := range l.records.all() {
		if record.Status.Phase == packingplan.Executing {
			open.Insert(nameOnNodes(record.Name()))
		}
	}
	nodes, err := l.plugin.view.nodes.List(labels.Everything())
	if err != nil {
		return
	}
	for _, node := range nodes {
		plan := markOf(node)
		if plan == "" || open.Has(plan) || node.Labels[packingplan.EmptiedLabel] == plan {
			continue
		}
		released, err := l.marks.releaseUnlessEmptied(ctx, plan, node.Name)
		switch {
		case released:
			l.plugin.logger.Info("Gave a node back that no plan empties any more", "node", node.Name, "plan", plan)
		case err != nil && !isForbidden(err):
			l.records.staleMarks = true
			l.plugin.logger.Error(err, "A node could not be given back yet", "node", node.Name)
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
