package podkey

import (
	"crypto/sha256"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// Key is the paper's ScoreKey (4.2.1): pods with equal keys are equal for all plugins that filter and score nodes. It is
// a digest of a canonical text, so the order of a list makes no difference where it has no meaning.
type Key [sha256.Size]byte

// Of is the pod's key. The cluster context decides which of the pod's labels matter.
func Of(pod *v1.Pod, cluster ClusterContext) Key {
	w := &writer{bytes: make([]byte, 0, 512)}
	w.text(pod.Spec.SchedulerName)
	w.number(int64(corev1helpers.PodPriority(pod)))
	if class := pod.Spec.RuntimeClassName; class != nil {
		w.text(*class)
	} else {
		w.text("")
	}
	writeRequests(w, pod)
	w.pairs(pod.Spec.NodeSelector)
	writeNodeAffinity(w, pod)
	writeTolerations(w, pod)
	writePorts(w, pod)
	writeImages(w, pod)
	writeSpread(w, pod)
	cluster.write(w, pod)
	return sha256.Sum256(w.bytes)
}
