package podkey

import (
	"crypto/sha256"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// Key is the paper's ScoreKey (4.2.1): pods with equal keys are equal to all that filters and scores nodes. It
// is a digest of a text that tells everything in one order, so that a list in another order makes no difference
// where its order has no meaning.
type Key [sha256.Size]byte

// Of digests the pod. The Surroundings are what of the cluster decides which of the pod's
// labels matter.
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
