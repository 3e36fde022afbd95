package rehearsal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// clusterCopy is the cluster while a plan is replayed: the nodes of the scheduler's snapshot, of which those that change
// are replaced by copies. The framework's plugins see it instead of that snapshot.
type clusterCopy struct {
	fwk.SharedLister // as it was before
	framework        framework.Framework
	nodes            []fwk.NodeInfo
	index            map[string]int
	copied           sets.Set[string]
	// changes counts the pods that came to or left each node.
	changes map[string]int
	// related is nil after a change of the pods with inter-pod affinity.
	related *relatedNodes
	trials  map[string]*trial
	claims  *claims
}

// trial is PreFilter's result for a pod class in the present state.
type trial struct {
	state fwk.CycleState
	// nodes are those PreFilter leaves; nil means all.
	nodes *fwk.PreFilterResult
	// status is not a success if PreFilter refuses the class everywhere.
	status *fwk.Status
	// pod is not empty if the result is of this pod alone, because it depends on its claims.
	pod types.UID
}

func (f *Framework) newClusterCopy() (*clusterCopy, error) {
	nodes, err := f.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	c := &clusterCopy{SharedLister: f.snapshot, framework: f.framework, nodes: append([]fwk.NodeInfo(nil), nodes...),
		index: make(map[string]int, len(nodes)), copied: sets.New[string](), changes: map[string]int{}, trials: map[string]*trial{}}
	for i, node := range nodes {
		c.index[node.Node().Name] = i
	}
	return c, nil
}

// node is a copy of the node in its present state.
func (c *clusterCopy) node(name string) (fwk.NodeInfo, error) {
	if _, err := c.Get(name); err != nil {
		return nil, err
	}
	i := c.index[name]
	if !c.copied.Has(name) {
		c.nodes[i] = c.nodes[i].Snapshot()
		c.copied.Insert(name)
		if len(c.nodes[i].GetPodsWithAffinity())+len(c.nodes[i].GetPodsWithRequiredAntiAffinity()) > 0 {
			c.related = nil
		}
	}
	return c.nodes[i], nil
}

// fits runs Filter for the pod, which is of the class, on the node.
func (c *clusterCopy) fits(ctx context.Context, class string, pod *v1.Pod, name string) (*fwk.Status, error) {
	one := c.trialOf(ctx, class, pod)
	if !one.status.IsSuccess() {
		return one.status, nil
	}
	if !one.nodes.AllNodes() && !one.nodes.NodeNames.Has(name) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) were left out by PreFilter"), nil
	}
	node, err := c.Get(name)
	if err != nil {
		return nil, err
	}
	return c.framework.RunFilterPluginsWithNominatedPods(ctx, one.state, pod, node), nil
}

// trialOf runs PreFilter again after each change. Its extensions, which update a result, are made for preemption: a
// plugin that was skipped is never run again, and topology spread is only right while pods leave a single node.
func (c *clusterCopy) trialOf(ctx context.Context, class string, pod *v1.Pod) *trial {
	one := c.trials[class]
	if one == nil || one.pod != "" && one.pod != pod.UID {
		one = &trial{state: framework.NewCycleState()}
		one.nodes, one.status, _ = c.framework.RunPreFilterPlugins(ctx, one.state, pod)
		if c.claims != nil && one.dependsOnClaims() {
			one.pod = pod.UID
		}
		c.trials[class] = one
	}
	return one
}

// dependsOnClaims says that DynamicResources refused the pod, or is to be asked about each node.
func (t *trial) dependsOnClaims() bool {
	if !t.status.IsSuccess() {
		return t.status.Plugin() == names.DynamicResources
	}
	return !t.state.GetSkipFilterPlugins().Has(names.DynamicResources)
}

// replacement is what the pod's controller creates in its place, with its claims.
func (c *clusterCopy) replacement(pod *v1.Pod) *v1.Pod {
	arriving := unbound(pod)
	arriving.Name += "-again"
	arriving.UID += "-again"
	arriving.Status.ResourceClaimStatuses = nil
	c.claims.copyFor(pod, arriving)
	return arriving
}

// leave removes a pod from its node. The devices that were allocated for it are free.
func (c *clusterCopy) leave(ctx context.Context, pod *v1.Pod, name string) error {
	node, err := c.node(name)
	if err != nil {
		return err
	}
	if err := node.RemovePod(klog.FromContext(ctx), pod); err != nil {
		return fmt.Errorf("pod %s/%s is not on node %q: %w", pod.Namespace, pod.Name, name, err)
	}
	c.claims.leave(pod)
	c.changed(pod, name)
	return nil
}

// arrive puts a pod, which is of the class and fits, on a node. It takes the devices that the plugin chose there.
func (c *clusterCopy) arrive(ctx context.Context, class string, pod *v1.Pod, name string) error {
	if one := c.trialOf(ctx, class, pod); one.pod != "" {
		if status := c.claims.reserve(ctx, one.state, pod, name); !status.IsSuccess() {
			return fmt.Errorf("reserving devices of node %q for pod %s/%s: %w", name, pod.Namespace, pod.Name, status.AsError())
		}
	}
	return c.put(pod, name)
}

// comeBack puts a pod that has left back on its node, with its devices.
func (c *clusterCopy) comeBack(pod *v1.Pod, name string) error {
	c.claims.undo(pod)
	return c.put(pod, name)
}

func (c *clusterCopy) put(pod *v1.Pod, name string) error {
	node, err := c.node(name)
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
	c.changed(pod, name)
	return nil
}

// taint puts a taint on a node, or takes it off.
func (c *clusterCopy) taint(name string, taint v1.Taint, on bool) error {
	node, err := c.node(name)
	if err != nil {
		return err
	}
	changed := node.Node().DeepCopy()
	changed.Spec.Taints = slices.DeleteFunc(changed.Spec.Taints, func(one v1.Taint) bool { return one.MatchTaint(&taint) })
	if on {
		changed.Spec.Taints = append(changed.Spec.Taints, taint)
	}
	node.SetNode(changed)
	c.changes[name]++
	clear(c.trials)
	return nil
}

// changed drops the results that a pod that comes or goes makes outdated.
func (c *clusterCopy) changed(pod *v1.Pod, node string) {
	c.changes[node]++
	clear(c.trials)
	if pod.Spec.Affinity != nil {
		c.related = nil
	}
}

// switchableLister is what the plugins see of the cluster. They keep a reference to it, so its content is switched: the
// scheduler's snapshot, or the cluster copy of a replay.
type switchableLister struct{ fwk.SharedLister }

func (c *clusterCopy) NodeInfos() fwk.NodeInfoLister { return c }

func (c *clusterCopy) StorageInfos() fwk.StorageInfoLister { return c }

func (c *clusterCopy) List() ([]fwk.NodeInfo, error) { return c.nodes, nil }

// relatedNodes are the nodes with pods that have inter-pod affinity, with pods that have required anti-affinity, and
// with those whose anti-affinity goes beyond the node.
type relatedNodes struct{ affinity, antiAffinity, wideAntiAffinity []fwk.NodeInfo }

func (c *clusterCopy) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return c.relate().affinity, nil
}

func (c *clusterCopy) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.relate().antiAffinity, nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList is asked for since Kubernetes 1.37.
func (c *clusterCopy) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.relate().wideAntiAffinity, nil
}

func (c *clusterCopy) relate() *relatedNodes {
	if c.related == nil {
		with := func(related func(fwk.NodeInfo) []fwk.PodInfo) []fwk.NodeInfo {
			return slices.DeleteFunc(slices.Clone(c.nodes), func(node fwk.NodeInfo) bool { return len(related(node)) == 0 })
		}
		c.related = &relatedNodes{with(fwk.NodeInfo.GetPodsWithAffinity), with(fwk.NodeInfo.GetPodsWithRequiredAntiAffinity),
			with(minor.WideAntiAffinity)}
	}
	return c.related
}

func (c *clusterCopy) Get(name string) (fwk.NodeInfo, error) {
	i, known := c.index[name]
	if !known {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	return c.nodes[i], nil
}

func (c *clusterCopy) IsPVCUsedByPods(key string) bool {
	for _, node := range c.nodes {
		if node.GetPVCRefCounts()[key] > 0 {
			return true
		}
	}
	return false
}
