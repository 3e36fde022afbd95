package simulation

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// stuck are the templates of which a pod has just been tried in vain. Until something changes, no other pod of the
// template is tried: it waits for the same as that one. A cluster in which thousands wait would else be tried out at each
// end of a pod.
type stuck struct {
	// templateOf names the template of a pod, and is empty for pods that have no equal. Without it every pod is tried.
	templateOf func(pod *v1.Pod) string
	refusals   map[string]refusal
}

// refusal is why a pod has no node, and who said so.
type refusal struct {
	reason    string
	diagnosis framework.Diagnosis
}

func (s *stuck) clear() { clear(s.refusals) }

// failed notes that a pod was tried in vain; if it is to have the room of others, they go, and everything may be different.
func (s *stuck) failed(pod *v1.Pod, status *fwk.Status, nominating *fwk.NominatingInfo) {
	var unfit *framework.FitError
	switch {
	case s.templateOf == nil:
	case nominating != nil && nominating.NominatedNodeName != "":
		s.clear()
	case errors.As(status.AsError(), &unfit):
		if template := s.templateOf(pod); template != "" {
			s.refusals[template] = refusal{reasonOf(status), unfit.Diagnosis}
		}
	}
}

// passOver puts a pod whose template is stuck back to those that wait for an event, and says whether it did.
func (r *run) passOver(pod *framework.QueuedPodInfo) bool {
	if r.stuck.templateOf == nil || pod.Pod.Status.NominatedNodeName != "" {
		return false
	}
	refused, is := r.stuck.refusals[r.stuck.templateOf(pod.Pod)]
	if !is {
		return false
	}
	pod.UnschedulablePlugins = refused.diagnosis.UnschedulablePlugins.Clone()
	pod.PendingPlugins = refused.diagnosis.PendingPlugins.Clone()
	queue := r.scheduler.SchedulingQueue
	if err := minor.AddUnschedulable(queue, klog.FromContext(r.ctx), pod, queue.SchedulingCycle()); err != nil {
		return false
	}
	r.clock.Step(betweenAttempts) // the same attempt goes on with the next pod
	r.reasons[key(pod.Pod)] = refused.reason
	r.passed++
	return true
}
