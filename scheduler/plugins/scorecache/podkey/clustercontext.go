package podkey

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ClusterContext is what a pod's key depends on beside the pod. It decides which of the pod's labels matter, so that pods
// that differ only in labels that no selector reads, such as those of a StatefulSet or an indexed Job, share a ranking.
type ClusterContext struct {
	// Affinity: some pod on some node has terms of inter-pod affinity, which read labels and namespaces.
	Affinity bool
	// Siblings selects the pods that the default constraints spread this one among; empty without constraints.
	Siblings labels.Selector
	// Features are those that the pod needs its node to declare.
	Features string
}

func (s ClusterContext) write(w *writer, pod *v1.Pod) {
	spread := len(pod.Spec.TopologySpreadConstraints) > 0
	w.flag(s.Affinity)
	if s.Affinity {
		w.pairs(pod.Labels)
	}
	siblings := ""
	if !spread && !s.Siblings.Empty() {
		siblings = s.Siblings.String()
	}
	w.text(siblings)
	if s.Affinity || spread || siblings != "" {
		w.text(pod.Namespace)
	}
	w.text(s.Features)
}
