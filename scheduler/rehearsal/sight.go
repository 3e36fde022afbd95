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

// relatedNodes are the nodes with pods that want others near or far, or far of necessity.
type relatedNodes struct{ affinity, antiAffinity []fwk.NodeInfo }

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (w *world) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return w.relate().affinity, nil }

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (w *world) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return w.relate().antiAffinity, nil
}

func (w *world) relate() *relatedNodes {
	if w.related != nil {
		return w.related
	}
	w.related = &relatedNodes{}
	for _, node := range w.nodes {
		if len(node.GetPodsWithAffinity()) > 0 {
			w.related.affinity = append(w.related.affinity, node)
		}
		if len(node.GetPodsWithRequiredAntiAffinity()) > 0 {
			w.related.antiAffinity = append(w.related.antiAffinity, node)
		}
	}
	return w.related
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
