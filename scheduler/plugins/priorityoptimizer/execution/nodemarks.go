package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

// NodeMarks write on nodes what a plan does with them.
type NodeMarks struct {
	Client clientset.Interface
	Clock  clock.PassiveClock
}

// begin keeps new pods off the node.
func (m NodeMarks) begin(ctx context.Context, plan *packingplan.Record, name string) error {
	taint := plan.Taint()
	return m.change(ctx, name, func(node *v1.Node) {
		if plan.Spec.EmptiedNodes != packingplan.Cordon {
			setTaint(node, taint, true)
		} else if !node.Spec.Unschedulable { // else somebody else has cordoned it, and is to decide when that ends
			node.Spec.Unschedulable = true
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, taint.Key, taint.Value)
		}
	})
}

// close keeps new pods off an idle node as long as the plan lasts.
func (m NodeMarks) close(ctx context.Context, plan *packingplan.Record, name string) error {
	return m.change(ctx, name, func(node *v1.Node) { setTaint(node, plan.Taint(), true) })
}

// release lets pods go to the node again, if the plan of that name keeps them off.
func (m NodeMarks) release(ctx context.Context, plan, name string) error {
	value := packingplan.NameOnNodes(plan)
	return m.change(ctx, name, func(node *v1.Node) { openAgain(node, value) })
}

// ReleaseUnlessEmptied does so unless the plan has emptied the node, which a watch may be late to show. It says whether it
// was released.
func (m NodeMarks) ReleaseUnlessEmptied(ctx context.Context, plan, name string) (released bool, err error) {
	value := packingplan.NameOnNodes(plan)
	err = m.change(ctx, name, func(node *v1.Node) {
		if released = node.Labels[packingplan.EmptiedLabel] != value; released {
			openAgain(node, value)
		}
	})
	return released && err == nil, err
}

func openAgain(node *v1.Node, plan string) {
	setTaint(node, v1.Taint{Key: packingplan.EmptyingTaint, Value: plan, Effect: v1.TaintEffectNoSchedule}, false)
	if node.Annotations[packingplan.EmptyingTaint] == plan {
		delete(node.Annotations, packingplan.EmptyingTaint)
		node.Spec.Unschedulable = false
	}
}

// complete says on the node that the plan has emptied it. Unless it is to be kept, no pods go there from now on.
func (m NodeMarks) complete(ctx context.Context, plan *packingplan.Record, name string) error {
	taint := plan.Taint()
	return m.change(ctx, name, func(node *v1.Node) {
		metav1.SetMetaDataLabel(&node.ObjectMeta, packingplan.EmptiedLabel, taint.Value)
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, packingplan.EmptiedAtAnnotation, m.Clock.Now().UTC().Format(time.RFC3339))
		delete(node.Annotations, packingplan.EmptyingTaint)
		if plan.Spec.EmptiedNodes == packingplan.Keep {
			setTaint(node, taint, false)
		}
	})
}

// setTaint puts the taint on the node in place of one of its key, or takes exactly this one off.
func setTaint(node *v1.Node, taint v1.Taint, on bool) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(one v1.Taint) bool {
		return one.MatchTaint(&taint) && (on || one.Value == taint.Value)
	})
	if on {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
}

// change patches the node unless it changes meanwhile: a taint that somebody else adds must not be lost. A node that is
// gone needs no change.
func (m NodeMarks) change(ctx context.Context, name string, how func(*v1.Node)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ctx, cancel := context.WithTimeout(ctx, records.APITimeout)
		defer cancel()
		seen, err := m.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		changed := seen.DeepCopy()
		how(changed)
		patch, err := patchBetween(seen, changed)
		if err != nil || patch == nil {
			return err
		}
		_, err = m.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("marking node %q: %w; is consolidation.enabled set in the chart's values?", name, err)
	case err != nil:
		return fmt.Errorf("marking node %q: %w", name, err)
	}
	return nil
}

// patchBetween is nil where nothing has changed. With the version that was seen in it, it applies to that one alone.
func patchBetween(seen, changed *v1.Node) ([]byte, error) {
	if equality.Semantic.DeepEqual(seen, changed) {
		return nil, nil
	}
	unversioned := seen.DeepCopy()
	unversioned.ResourceVersion = ""
	before, err := json.Marshal(unversioned)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(changed)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, v1.Node{})
}
