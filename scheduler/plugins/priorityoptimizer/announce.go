package priorityoptimizer

import (
	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// announce puts the end of a plan on record as an event about it.
func (l *loop) announce(record *packingplan.Record, phase packingplan.Phase, message string) {
	if l.recorder == nil {
		return
	}
	kind := v1.EventTypeNormal
	if phase == packingplan.Aborted || phase == packingplan.Failed {
		kind = v1.EventTypeWarning
	}
	l.recorder.Eventf(record.Reference(), nil, kind, string(phase), "Plan", "%s", message)
}

// announceDeparture records an event that says why a pod was evicted.
func (l *loop) announceDeparture(record *packingplan.Record, departure executor.Departure, to string) {
	if l.recorder == nil {
		return
	}
	pod := departure.Pod.Object
	if departure.Move {
		l.recorder.Eventf(pod, record.Reference(), v1.EventTypeNormal, "MovedByPlan", "Evict",
			"evicted from %s by plan %s; its replacement goes to %s", departure.Pod.Node, record.Name(), to)
		return
	}
	l.recorder.Eventf(pod, record.Reference(), v1.EventTypeNormal, "EvictedByPlan", "Evict",
		"evicted from %s by plan %s for pods of higher priority", departure.Pod.Node, record.Name())
}
