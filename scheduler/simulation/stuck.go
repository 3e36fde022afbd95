package simulation

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// stuck are the kinds of pods of which one has just been tried in vain. Until something changes, no other of the kind is
// tried: it waits for the same as that one. A cluster in which thousands wait would else be tried out at each end of a pod.
type stuck struct {
	// kind is the same for equal pods, and empty for pods that have no equal. Without it every pod is tried.
	kind  func(pod *v1.Pod) string
	kinds map[string]refusal
}

// refusal is why a pod has no node, and who said so.
type refusal struct {
	reason    string
	diagnosis framework.Diagnosis
}

func (s *stuck) clear() { clear(s.kinds) }

// failed notes that a pod was tried in vain; if it is to have the room of others, they go, and everything may be different.
func (s *stuck) failed(pod *v1.Pod, status *fwk.Status, nominating *fwk.NominatingInfo) {
	var unfit *framework.FitError
	switch {
	case s.kind == nil:
	case nominating != nil && nominating.NominatedNodeName != "":
		s.clear()
	case errors.As(status.AsError(), &unfit):
		if kind := s.kind(pod); kind != "" {
			s.kinds[kind] = refusal{reasonOf(status), unfit.Diagnosis}
		}
	}
}

// passOver puts a pod whose kind is stuck back to those that wait for an event, and says whether it did.
func (r *run) passOver(pod *framework.QueuedPodInfo) bool {
	if r.stuck.kind == nil || pod.Pod.Status.NominatedNodeName != "" {
		return false
	}
	refused, is := r.stuck.kinds[r.stuck.kind(pod.Pod)]
	if !is {
		return false
	}
	pod.UnschedulablePlugins = refused.diagnosis.UnschedulablePlugins.Clone()
	pod.PendingPlugins = refused.diagnosis.PendingPlugins.Clone()
	r.clock.Step(betweenAttempts)
	queue := r.scheduler.SchedulingQueue
	if err := minor.AddUnschedulable(queue, klog.FromContext(r.ctx), pod, queue.SchedulingCycle()); err != nil {
		return false
	}
	r.reasons[key(pod.Pod)] = refused.reason
	r.passed++
	return true
}
