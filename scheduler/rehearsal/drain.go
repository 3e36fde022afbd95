package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// Emptied is a node that is drained: its pods leave in that order, and another scheduler places them again.
type Emptied struct {
	Node string
	Pods []*snapshot.Pod
}

// Drained is what a drain would lead to.
type Drained struct {
	// Places are the nodes of the replacements.
	Places map[types.UID]string
	// Stuck are the nodes that cannot be emptied, and why. Their pods stay.
	Stuck map[string]string
}

// Empty empties the nodes on copies, one after the other. All of them, and those that are closed, have the taint from the
// start, and each replacement goes where this profile would put it: what another scheduler does is not known, but most
// have the same rules. A node is stuck if a pod finds no place, or would go to a node that is not in use: nothing is gained
// by that.
func (f *Framework) Empty(ctx context.Context, nodes []Emptied, closed []string, taint v1.Taint) (Drained, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.update(ctx); err != nil {
		return Drained{}, fmt.Errorf("rehearsing the drain: %w", err)
	}
	defer f.showScheduler()
	cluster, err := f.newClusterCopy()
	if err != nil {
		return Drained{}, err
	}
	if err := f.show(cluster); err != nil {
		return Drained{}, fmt.Errorf("rehearsing the drain: %w", err)
	}
	d := &draining{cluster, sets.New[string]()}
	for _, node := range cluster.nodes {
		if !isInUse(node) {
			d.idle.Insert(node.Node().Name)
		}
	}
	tainted := slices.Clone(closed)
	for _, one := range nodes {
		tainted = append(tainted, one.Node)
	}
	for _, name := range tainted {
		if err := cluster.taint(name, taint, true); err != nil {
			return Drained{}, &StaleError{err}
		}
	}
	made := Drained{Places: map[types.UID]string{}, Stuck: map[string]string{}}
	for _, one := range nodes {
		places, stuck, err := d.empty(ctx, one)
		switch {
		case err != nil:
			return Drained{}, err
		case stuck != "":
			made.Stuck[one.Node] = stuck
			if err := cluster.taint(one.Node, taint, false); err != nil {
				return Drained{}, err
			}
		}
		maps.Copy(made.Places, places)
	}
	return made, nil
}

// isInUse says whether the node has a pod that would not go with it, or may not be removed.
func isInUse(node fwk.NodeInfo) bool {
	if snapshot.IrremovableReason(node.Node()) != "" {
		return true
	}
	return slices.ContainsFunc(node.GetPods(), func(info fwk.PodInfo) bool {
		return !snapshot.GoesWithItsNode(info.GetPod())
	})
}

// draining is done on a copy of the cluster, of which some nodes were idle before.
type draining struct {
	*clusterCopy
	idle sets.Set[string]
}

// empty places the pods of a node elsewhere. If one of them is stuck, all are where they were.
func (d *draining) empty(ctx context.Context, of Emptied) (places map[types.UID]string, stuck string, err error) {
	places = map[types.UID]string{}
	var moved []*v1.Pod
	for _, pod := range of.Pods {
		arriving := d.replacement(pod.Object)
		if err := d.leave(ctx, pod.Object, of.Node); err != nil {
			return nil, "", &StaleError{err}
		}
		node, err := d.choose(ctx, pod.Class, arriving, d.nodes)
		var lacking *framework.FitError
		switch {
		case errors.As(err, &lacking):
			stuck = fmt.Sprintf("pod %s/%s: %v", pod.Object.Namespace, pod.Object.Name, lacking)
		case err != nil:
			return nil, "", err
		case d.idle.Has(node):
			stuck = fmt.Sprintf("pod %s/%s would go to node %q, which is not in use", pod.Object.Namespace, pod.Object.Name, node)
		}
		if stuck != "" {
			return nil, stuck, d.takeBack(ctx, of, moved, places)
		}
		if err := d.arrive(ctx, pod.Class, arriving, node); err != nil {
			return nil, "", err
		}
		places[pod.Object.UID], moved = node, append(moved, arriving)
	}
	return places, "", nil
}

// takeBack puts the pods back, the last of which has only left.
func (d *draining) takeBack(ctx context.Context, of Emptied, moved []*v1.Pod, places map[types.UID]string) error {
	for i, came := range moved {
		if err := d.leave(ctx, came, places[of.Pods[i].Object.UID]); err != nil {
			return err
		}
	}
	for _, pod := range of.Pods[:len(moved)+1] {
		if err := d.comeBack(pod.Object, of.Node); err != nil {
			return err
		}
	}
	return nil
}
