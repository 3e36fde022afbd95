package rehearsal

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// sight is what the stage's plugins see of the cluster. They keep hold of it, so what it shows
// is changed beneath them: the scheduler's snapshot, or the world of a replay.
type sight struct{ fwk.SharedLister }

// NodeInfos implements fwk.SharedLister.
func (w *world) NodeInfos() fwk.NodeInfoLister { return w }

// StorageInfos implements fwk.SharedLister.
func (w *world) StorageInfos() fwk.StorageInfoLister { return w }

// List implements fwk.NodeInfoLister.
func (w *world) List() ([]fwk.NodeInfo, error) { return w.nodes, nil }

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (w *world) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return w.those(func(node fwk.NodeInfo) bool { return len(node.GetPodsWithAffinity()) > 0 }), nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (w *world) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return w.those(func(node fwk.NodeInfo) bool { return len(node.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

func (w *world) those(are func(fwk.NodeInfo) bool) (nodes []fwk.NodeInfo) {
	for _, node := range w.nodes {
		if are(node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Get implements fwk.NodeInfoLister.
func (w *world) Get(name string) (fwk.NodeInfo, error) {
	i, known := w.index[name]
	if !known {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	return w.nodes[i], nil
}

// IsPVCUsedByPods implements fwk.StorageInfoLister.
func (w *world) IsPVCUsedByPods(key string) bool {
	for _, node := range w.nodes {
		if node.GetPVCRefCounts()[key] > 0 {
			return true
		}
	}
	return false
}
