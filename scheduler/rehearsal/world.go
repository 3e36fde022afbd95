package rehearsal

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/resources"
)

// world is the cluster in the course of a plan: the nodes of the scheduler's snapshot, those that
// change replaced by copies. The stage's plugins look at it in the place of that snapshot.
type world struct {
	fwk.SharedLister // as it was before
	framework        framework.Framework
	nodes            []fwk.NodeInfo
	index            map[string]int
	copied           sets.Set[string]
	// related are the nodes with pods that want others near or far; nil after a change among them.
	related *relatedNodes
	trials  map[string]*trial
}

// trial is what PreFilter says to a class of pods in the present state.
type trial struct {
	state fwk.CycleState
	// nodes are those PreFilter leaves; nil means all.
	nodes *fwk.PreFilterResult
	// status is not a success if PreFilter refuses the class everywhere.
	status *fwk.Status
}

func newWorld(of framework.Framework, before fwk.SharedLister) (*world, error) {
	nodes, err := before.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	w := &world{SharedLister: before, framework: of, nodes: append([]fwk.NodeInfo(nil), nodes...),
		index: make(map[string]int, len(nodes)), copied: sets.New[string](), trials: map[string]*trial{}}
	for i, node := range nodes {
		w.index[node.Node().Name] = i
	}
	return w, nil
}

// node is a copy of the node as it is by now.
func (w *world) node(name string) (fwk.NodeInfo, error) {
	if _, err := w.Get(name); err != nil {
		return nil, err
	}
	i := w.index[name]
	if !w.copied.Has(name) {
		w.nodes[i] = w.nodes[i].Snapshot()
		w.copied.Insert(name)
		w.related = nil
	}
	return w.nodes[i], nil
}

// free is the room on a node, none at all on one that is gone.
func (w *world) free(name string) resources.Vector {
	node, err := w.Get(name)
	if err != nil {
		return resources.Vector{}
	}
	return resources.FreeOn(node)
}

// freeOn is the room on the nodes.
func (w *world) freeOn(names []string) map[string]resources.Vector {
	free := make(map[string]resources.Vector, len(names))
	for _, name := range names {
		free[name] = w.free(name)
	}
	return free
}

// fits asks Filter whether the pod, which is of the class, may go to the node now.
func (w *world) fits(ctx context.Context, class string, pod *v1.Pod, name string) (*fwk.Status, error) {
	one := w.trialOf(ctx, class, pod)
	if !one.status.IsSuccess() {
		return one.status, nil
	}
	if !one.nodes.AllNodes() && !one.nodes.NodeNames.Has(name) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "PreFilter leaves out the node"), nil
	}
	node, err := w.Get(name)
	if err != nil {
		return nil, err
	}
	return w.framework.RunFilterPluginsWithNominatedPods(ctx, one.state, pod, node), nil
}

// trialOf asks PreFilter anew after each change. Its extensions, which update an answer, are made
// for preemption: a plugin that had nothing to say is never asked again, and the spread of pods is
// right as long as they leave a single node.
func (w *world) trialOf(ctx context.Context, class string, pod *v1.Pod) *trial {
	if w.trials[class] == nil {
		one := &trial{state: framework.NewCycleState()}
		one.nodes, one.status, _ = w.framework.RunPreFilterPlugins(ctx, one.state, pod)
		w.trials[class] = one
	}
	return w.trials[class]
}

// leave takes a pod off its node.
func (w *world) leave(ctx context.Context, pod *v1.Pod, name string) error {
	node, err := w.node(name)
	if err != nil {
		return err
	}
	if err := node.RemovePod(klog.FromContext(ctx), pod); err != nil {
		return fmt.Errorf("pod %s/%s is not on node %q: %w", pod.Namespace, pod.Name, name, err)
	}
	w.changed(pod)
	return nil
}

// arrive puts a pod on a node.
func (w *world) arrive(pod *v1.Pod, name string) error {
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
	w.changed(pod)
	return nil
}

// changed forgets what a pod that comes or goes makes out of date.
func (w *world) changed(pod *v1.Pod) {
	clear(w.trials)
	if pod.Spec.Affinity != nil {
		w.related = nil
	}
}
