package scorecache

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// surroundings are what of the cluster a pod's key depends on. They decide what its labels matter for, so that
// pods which differ in labels that nothing looks at, as those of a StatefulSet or an indexed Job do, share a
// ranking.
type surroundings struct {
	// affinity: some pod on some node has terms of inter-pod affinity, which look at labels and namespace.
	affinity bool
	// siblings selects the pods that the default constraints spread this one among; empty without any.
	siblings labels.Selector
	// features are those that the pod needs its node to declare.
	features string
}

func (s surroundings) write(w *writer, pod *v1.Pod) {
	spread := len(pod.Spec.TopologySpreadConstraints) > 0
	w.flag(s.affinity)
	if s.affinity {
		w.pairs(pod.Labels)
	}
	siblings := ""
	if !spread && !s.siblings.Empty() {
		siblings = s.siblings.String()
	}
	w.text(siblings)
	if s.affinity || spread || siblings != "" {
		w.text(pod.Namespace)
	}
	w.text(s.features)
}
