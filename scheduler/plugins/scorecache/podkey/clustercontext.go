package podkey

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ClusterContext are what of the cluster a pod's key depends on. They decide what its labels matter for, so that
// pods which differ in labels that nothing looks at, as those of a StatefulSet or an indexed Job do, share a
// ranking.
type ClusterContext struct {
	// Affinity: some pod on some node has terms of inter-pod affinity, which look at labels and namespace.
	Affinity bool
	// Siblings selects the pods that the default constraints spread this one among; empty without any.
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
