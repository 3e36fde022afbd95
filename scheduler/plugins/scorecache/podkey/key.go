// Package podkey says which pods are equal for all plugins that filter and score nodes.
package podkey

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// writer makes an unambiguous text: each value is preceded by its length.
type writer struct{ bytes []byte }

func (w *writer) number(value int64) { w.bytes = binary.AppendVarint(w.bytes, value) }

func (w *writer) flag(value bool) {
	if value {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *writer) text(value string) {
	w.number(int64(len(value)))
	w.bytes = append(w.bytes, value...)
}

// pairs writes a map in the order of its keys.
func (w *writer) pairs(values map[string]string) {
	w.number(int64(len(values)))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.text(key)
		w.text(values[key])
	}
}

// bag writes values whose order does not matter, but whose number does.
func (w *writer) bag(values []string) {
	slices.Sort(values)
	w.number(int64(len(values)))
	for _, value := range values {
		w.text(value)
	}
}

// set writes values whose order and number do not matter.
func (w *writer) set(values []string) {
	slices.Sort(values)
	w.bag(slices.Compact(values))
}

// each writes every value into a text of its own.
func each[T any](values []T, write func(*writer, *T)) []string {
	texts := make([]string, len(values))
	for i := range values {
		var w writer
		write(&w, &values[i])
		texts[i] = string(w.bytes)
	}
	return texts
}

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
