package simulation

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// victims are the pods that preemption has removed, in that order, until they are taken.
type victims struct {
	mu   sync.Mutex
	pods []*v1.Pod
}

func (v *victims) add(pod *v1.Pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pods = append(v.pods, pod)
}

func (v *victims) take() []*v1.Pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := v.pods
	v.pods = nil
	return taken
}

// replacements knows which pod of the instance each replacement belongs to, and the last replacement of each pod.
type replacements struct {
	original map[string]string
	last     map[string]string
	made     map[string]int
}

func newReplacements() replacements {
	return replacements{original: map[string]string{}, last: map[string]string{}, made: map[string]int{}}
}

// of returns the key of the last replacement of the pod with that key, or the key itself if it was never replaced.
func (r replacements) of(key string) string {
	if last, replaced := r.last[key]; replaced {
		return last
	}
	return key
}

// create returns a pod as the victim was when it arrived, under a name that says which pod it replaces.
func (r replacements) create(victim *v1.Pod) *v1.Pod {
	original, again := r.original[key(victim)]
	if !again {
		original = key(victim)
	}
	r.made[original]++
	_, name := splitKey(original)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       victim.Namespace,
			Name:            fmt.Sprintf("%s-again-%d", name, r.made[original]),
			Labels:          victim.Labels,
			Annotations:     victim.Annotations,
			OwnerReferences: victim.OwnerReferences,
		},
		Spec: *victim.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = ""
	r.original[key(pod)], r.last[original] = original, key(pod)
	return pod
}

// replace replaces the preempted pods, as their controllers would, and reports whether there were any.
func (r *run) replace() (bool, error) {
	gone := r.api.preempted.take()
	if !r.replaces {
		return false, nil
	}
	for _, victim := range gone {
		if err := r.storeWaiting(r.replacements.create(victim)); err != nil {
			return false, fmt.Errorf("replacing pod %s: %w", key(victim), err)
		}
	}
	return len(gone) > 0, nil
}
