package rehearsal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/resources"
)

// UnplaceableError says that no node takes a pod.
type UnplaceableError struct {
	Nodes int
	// Reasons counts nodes by what their plugins say.
	Reasons map[string]int
}

// Error lists the reasons in the form of the scheduler's own message.
func (e *UnplaceableError) Error() string {
	reasons := make([]string, 0, len(e.Reasons))
	for _, reason := range slices.Sorted(maps.Keys(e.Reasons)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", e.Reasons[reason], reason))
	}
	return fmt.Sprintf("0/%d nodes are available: %s", e.Nodes, strings.Join(reasons, ", "))
}

// Place chooses a node for a pod that the scheduler has not seen, as a scheduling cycle would: the best score, and of
// those the first by name. If wanted is not empty, only that node is considered. The error is an *UnplaceableError if no
// node takes the pod.
func (f *Framework) Place(ctx context.Context, pod *v1.Pod, wanted string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.update(ctx); err != nil {
		return "", fmt.Errorf("placing %s: %w", pod.Name, err)
	}
	cluster, err := newClusterCopy(f.framework, f.snapshot)
	if err != nil {
		return "", err
	}
	nodes := cluster.nodes
	if wanted != "" {
		node, err := cluster.Get(wanted)
		if err != nil {
			return "", &UnplaceableError{Reasons: map[string]int{fmt.Sprintf("node %q is gone", wanted): 1}, Nodes: 1}
		}
		nodes = []fwk.NodeInfo{node}
	}
	return f.choose(ctx, cluster, "", pod, nodes)
}

// choose chooses one of the nodes for the pod, which is of the class, as a scheduling cycle would.
func (f *Framework) choose(ctx context.Context, cluster *clusterCopy, class string, pod *v1.Pod, nodes []fwk.NodeInfo) (string, error) {
	lacking := &UnplaceableError{Nodes: len(nodes), Reasons: map[string]int{}}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status, err := cluster.fits(ctx, class, pod, node.Node().Name)
		switch {
		case err != nil:
			return "", err
		case status.IsSuccess():
			feasible = append(feasible, node)
		case !status.IsRejected():
			return "", status.AsError()
		default:
			for _, reason := range status.Reasons() {
				lacking.Reasons[reason]++
			}
		}
	}
	if len(feasible) == 0 {
		return "", lacking
	}
	return f.best(ctx, cluster.trialOf(ctx, class, pod).state, pod, feasible)
}

func (f *Framework) best(ctx context.Context, state fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo) (string, error) {
	if len(feasible) == 1 {
		return feasible[0].Node().Name, nil
	}
	if status := f.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return "", status.AsError()
	}
	scores, status := f.framework.RunScorePlugins(ctx, state, pod, feasible)
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
	free, _, err := f.Room(ctx, nil)
	return free, err
}

// Room is what is free on the named nodes, or on every node if there are no names, pods whose binding is under way
// counted, and what those pods still take there that terminate or are known to leave. A node that is gone is left out.
func (f *Framework) Room(ctx context.Context, leaving sets.Set[types.UID], names ...string) (
	free, toCome map[string]resources.Vector, err error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.update(ctx); err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		nodes, err := f.snapshot.NodeInfos().List()
		if err != nil {
			return nil, nil, err
		}
		for _, node := range nodes {
			names = append(names, node.Node().Name)
		}
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
	}
	return free, toCome, nil
}
