package rehearsal

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/resources"
)

// Place chooses a node for a pod that the scheduler has not seen, as a scheduling cycle would: the best score, and of
// those the first by name. If wanted is not empty, only that node is considered. The error is a *framework.FitError if no
// node takes the pod.
func (f *Framework) Place(ctx context.Context, pod *v1.Pod, wanted string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.update(ctx); err != nil {
		return "", fmt.Errorf("placing %s: %w", pod.Name, err)
	}
	cluster, err := f.newClusterCopy()
	if err != nil {
		return "", err
	}
	nodes := cluster.nodes
	if wanted != "" {
		node, err := cluster.Get(wanted)
		if err != nil {
			lacking := fitError(pod, 1)
			lacking.Diagnosis.NodeToStatus.Set(wanted, fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("node %q is gone", wanted)))
			return "", lacking
		}
		nodes = []fwk.NodeInfo{node}
	}
	return cluster.choose(ctx, "", pod, nodes)
}

func fitError(pod *v1.Pod, nodes int) *framework.FitError {
	return &framework.FitError{Pod: pod, NumAllNodes: nodes,
		Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}}
}

// choose chooses one of the nodes for the pod, which is of the class, as a scheduling cycle would.
func (c *clusterCopy) choose(ctx context.Context, class string, pod *v1.Pod, nodes []fwk.NodeInfo) (string, error) {
	lacking := fitError(pod, len(nodes))
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status, err := c.fits(ctx, class, pod, node.Node().Name)
		switch {
		case err != nil:
			return "", err
		case status.IsSuccess():
			feasible = append(feasible, node)
		case !status.IsRejected():
			return "", status.AsError()
		default:
			lacking.Diagnosis.NodeToStatus.Set(node.Node().Name, status)
		}
	}
	if len(feasible) == 0 {
		return "", lacking
	}
	return c.best(ctx, c.trialOf(ctx, class, pod).state, pod, feasible)
}

func (c *clusterCopy) best(ctx context.Context, state fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo) (string, error) {
	if len(feasible) == 1 {
		return feasible[0].Node().Name, nil
	}
	if status := c.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return "", status.AsError()
	}
	scores, status := c.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return "", status.AsError()
	}
	best := scores[0]
	for _, score := range scores[1:] {
		if score.TotalScore > best.TotalScore || score.TotalScore == best.TotalScore && score.Name < best.Name {
			best = score
		}
	}
	return best.Name, nil
}

// Free is the room on every node, pods whose binding is under way counted.
func (f *Framework) Free(ctx context.Context) (map[string]resources.Vector, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.update(ctx); err != nil {
		return nil, err
	}
	nodes, err := f.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(nodes))
	for _, node := range nodes {
		names = append(names, node.Node().Name)
	}
	return f.book.FreeOn(f.snapshot.NodeInfos(), names), nil
}

// Room is what is free on the named nodes, pods whose binding is under way counted, and what those pods still take there
// that terminate or are known to leave, and pods that are gone until their claims are deallocated. A node that is gone is left
// out. Each step of a plan asks for it: the devices are
// those of the plan's rehearsal.
func (f *Framework) Room(ctx context.Context, leaving sets.Set[types.UID], names ...string) (
	free, toCome map[string]resources.Vector, err error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.takeSnapshot(ctx); err != nil {
		return nil, nil, err
	}
	free, toCome = f.book.FreeOn(f.snapshot.NodeInfos(), names), map[string]resources.Vector{}
	for name := range free {
		node, err := f.snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, nil, err
		}
		for _, pod := range node.GetPods() {
			if pod := pod.GetPod(); pod.DeletionTimestamp != nil || leaving.Has(pod.UID) {
				toCome[name] = toCome[name].Plus(f.book.Needs(pod))
			}
		}
		if devices := f.book.AwaitingDeallocation(node); !devices.IsZero() {
			toCome[name] = toCome[name].Plus(devices)
		}
	}
	return free, toCome, nil
}
