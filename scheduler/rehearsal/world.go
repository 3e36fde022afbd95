package rehearsal

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/resources"
)

// world is the cluster in the course of a plan: copies of the nodes that change, and for each
// class of arriving pods what PreFilter knows about it, kept up to date.
type world struct {
	framework framework.Framework
	before    fwk.NodeInfoLister
	changed   map[string]fwk.NodeInfo
	trials    map[string]*trial
}

// trial is PreFilter's answer for a class of pods.
type trial struct {
	pod   *v1.Pod
	state fwk.CycleState
	// nodes are those PreFilter leaves; nil means all.
	nodes *fwk.PreFilterResult
	// status is not a success if PreFilter refuses the class everywhere.
	status *fwk.Status
}

// newWorld asks PreFilter about each class that arrives, before anything changes.
func newWorld(ctx context.Context, of framework.Framework, arriving []*arrival) *world {
	w := &world{framework: of, before: of.SnapshotSharedLister().NodeInfos(),
		changed: map[string]fwk.NodeInfo{}, trials: map[string]*trial{}}
	for _, next := range arriving {
		if w.trials[next.of.Class] != nil {
			continue
		}
		one := &trial{pod: next.pod, state: framework.NewCycleState()}
		one.nodes, one.status, _ = of.RunPreFilterPlugins(ctx, one.state, next.pod)
		w.trials[next.of.Class] = one
	}
	return w
}

// node is the node as it is by now.
func (w *world) node(name string) (fwk.NodeInfo, error) {
	if changed, ok := w.changed[name]; ok {
		return changed, nil
	}
	before, err := w.before.Get(name)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", name, err)
	}
	w.changed[name] = before.Snapshot()
	return w.changed[name], nil
}

// free is the room on a node, none at all on one that is gone.
func (w *world) free(name string) resources.Vector {
	node, ok := w.changed[name]
	if !ok {
		before, err := w.before.Get(name)
		if err != nil {
			return resources.Vector{}
		}
		node = before
	}
	return resources.FreeOn(node)
}

// frees is the room on every node.
func (w *world) frees() (map[string]resources.Vector, error) {
	nodes, err := w.before.List()
	if err != nil {
		return nil, err
	}
	free := make(map[string]resources.Vector, len(nodes))
	for _, node := range nodes {
		name := node.Node().Name
		free[name] = w.free(name)
	}
	return free, nil
}

// fits asks Filter whether pods of the class, which was announced, may go to the node now.
func (w *world) fits(ctx context.Context, class, name string) (*fwk.Status, error) {
	one := w.trials[class]
	if one == nil {
		return nil, fmt.Errorf("class %s was not announced", class)
	}
	if !one.status.IsSuccess() {
		return one.status, nil
	}
	if !one.nodes.AllNodes() && !one.nodes.NodeNames.Has(name) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "PreFilter leaves out the node"), nil
	}
	node, err := w.node(name)
	if err != nil {
		return nil, err
	}
	return w.framework.RunFilterPluginsWithNominatedPods(ctx, one.state, one.pod, node), nil
}

// leave takes a pod off its node.
func (w *world) leave(ctx context.Context, pod *v1.Pod, name string) error {
	node, err := w.node(name)
	if err != nil {
		return err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return err
	}
	if err := node.RemovePod(klog.FromContext(ctx), pod); err != nil {
		return fmt.Errorf("pod %s/%s is not on node %q: %w", pod.Namespace, pod.Name, name, err)
	}
	for _, one := range w.trials {
		status := w.framework.RunPreFilterExtensionRemovePod(ctx, one.state, one.pod, info, node)
		if err := status.AsError(); one.status.IsSuccess() && err != nil {
			return err
		}
	}
	return nil
}

// arrive puts a pod on a node.
func (w *world) arrive(ctx context.Context, pod *v1.Pod, name string) error {
	node, err := w.node(name)
	if err != nil {
		return err
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = name
	info, err := framework.NewPodInfo(placed)
	if err != nil {
		return err
	}
	node.AddPodInfo(info)
	for _, one := range w.trials {
		status := w.framework.RunPreFilterExtensionAddPod(ctx, one.state, one.pod, info, node)
		if err := status.AsError(); one.status.IsSuccess() && err != nil {
			return err
		}
	}
	return nil
}
