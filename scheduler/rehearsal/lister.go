package rehearsal

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// switchableLister is what the plugins see of the cluster. They keep a reference to it, so its content is switched: the
// scheduler's snapshot, or the cluster copy of a replay.
type switchableLister struct{ fwk.SharedLister }

// NodeInfos implements fwk.SharedLister.
func (c *clusterCopy) NodeInfos() fwk.NodeInfoLister { return c }

// StorageInfos implements fwk.SharedLister.
func (c *clusterCopy) StorageInfos() fwk.StorageInfoLister { return c }

// List implements fwk.NodeInfoLister.
func (c *clusterCopy) List() ([]fwk.NodeInfo, error) { return c.nodes, nil }

// relatedNodes are the nodes with pods that have inter-pod affinity, and with pods that have required anti-affinity.
type relatedNodes struct{ affinity, antiAffinity []fwk.NodeInfo }

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (c *clusterCopy) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return c.relate().affinity, nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (c *clusterCopy) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return c.relate().antiAffinity, nil
}

func (c *clusterCopy) relate() *relatedNodes {
	if c.related != nil {
		return c.related
	}
	c.related = &relatedNodes{}
	for _, node := range c.nodes {
		if len(node.GetPodsWithAffinity()) > 0 {
			c.related.affinity = append(c.related.affinity, node)
		}
		if len(node.GetPodsWithRequiredAntiAffinity()) > 0 {
			c.related.antiAffinity = append(c.related.antiAffinity, node)
		}
	}
	return c.related
}

// Get implements fwk.NodeInfoLister.
func (c *clusterCopy) Get(name string) (fwk.NodeInfo, error) {
	i, known := c.index[name]
	if !known {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	return c.nodes[i], nil
}

// IsPVCUsedByPods implements fwk.StorageInfoLister.
func (c *clusterCopy) IsPVCUsedByPods(key string) bool {
	for _, node := range c.nodes {
		if node.GetPVCRefCounts()[key] > 0 {
			return true
		}
	}
	return false
}
