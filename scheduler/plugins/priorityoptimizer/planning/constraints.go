package planning

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// addConstraints keeps an objection's constraints for the rest of the solve, and records the objection.
func (s *Session) addConstraints(raised *Objection) {
	s.constraints = append(s.constraints, raised.constraints...)
	for _, refusal := range raised.refusals {
		metrics.ObjectionsTotal.WithLabelValues(refusal.Reason).Inc()
		if len(s.Record.Status.Objections) < records.MaxRefusals {
			s.Record.Status.Objections = append(s.Record.Status.Objections, refusal)
		}
	}
}

// applyConstraints applies to a new snapshot what earlier plans and earlier rounds have ruled out.
func (s *Session) applyConstraints() {
	for _, constrain := range s.constraints {
		constrain(s.Snapshot)
	}
	if at := s.Snapshot.NextChange; !at.IsZero() {
		s.noteChange(at)
	}
	now := s.Clock.Now()
	for pair, until := range s.refusedPairs {
		if !now.Before(until) {
			delete(s.refusedPairs, pair)
			continue
		}
		s.Snapshot.Forbid(pair.Class, pair.Node)
		s.noteChange(until)
	}
	// Whatever keeps the replacement of a pod away that an earlier plan has moved may keep the next one away.
	s.pinOwned(s.View.Broken(s.Records.Unreplaced()), snapshot.LostReplacement)
	s.keepShort()
	s.keepRefused()
	cooling := coolingOf(s.history, config.Seconds(s.Args.CoolDownSeconds), records.CoolDownOf(s.Record))
	s.pin(snapshot.CoolingDown, func(pod *snapshot.Pod) (time.Time, bool) {
		until := cooling.until(pod)
		return until, now.Before(until)
	})
}

// pin pins the pods that might be moved and that the condition selects, and notes until when.
func (s *Session) pin(reason string, which func(*snapshot.Pod) (until time.Time, kept bool)) {
	for uid, pod := range s.Snapshot.Pods {
		if pod.Node == "" || pod.Immovable != "" {
			continue
		}
		if until, kept := which(pod); kept {
			s.Snapshot.Pin(uid, reason)
			s.noteChange(until)
		}
	}
}

// pinOwned pins the pods of the workloads until it is time to look again.
func (s *Session) pinOwned(by sets.Set[types.UID], reason string) {
	until := s.Clock.Now().Add(snapshot.LookAgain)
	s.pin(reason, func(pod *snapshot.Pod) (time.Time, bool) { return until, by.Has(pod.Owner) })
}

const (
	// lateReplacement is how long after the end of a plan the replacement of one of its pods may be created.
	lateReplacement = time.Minute
	// resolution is that of the times in objects, which are cut off.
	resolution = time.Second
)

// cooling says until when pods are left alone because earlier plans have moved pods of their workload.
type cooling struct {
	// moved are one of these pods of each plan, by workload.
	moved map[types.UID][]plan.Moved
	// all is how long the profile leaves the whole workload alone. replaced is how long the plan asks for that only what
	// the earlier ones moved is left alone, which is known by when it was created.
	all, replaced time.Duration
}

func coolingOf(history []plan.Moved, all, replaced time.Duration) cooling {
	moved := map[types.UID][]plan.Moved{}
	for _, one := range history {
		of := moved[one.Owner]
		if last := len(of) - 1; one.Owner != "" && (last < 0 || of[last].Began != one.Began || of[last].At != one.At) {
			moved[one.Owner] = append(of, one)
		}
	}
	return cooling{moved, all, replaced}
}

func (c cooling) until(pod *snapshot.Pod) (until time.Time) {
	created := pod.Object.CreationTimestamp.Time
	for _, one := range c.moved[pod.Owner] {
		ends := one.At.Add(c.all)
		if came := !created.Before(one.Began.Truncate(resolution)) && !created.After(one.At.Add(lateReplacement)); came {
			ends = one.At.Add(max(c.all, c.replaced+resolution))
		}
		if ends.After(until) {
			until = ends
		}
	}
	return until
}

// keepShort pins the pods of workloads of which no pod may leave, since too few are ready: a drain would wait for them in
// vain.
func (s *Session) keepShort() {
	atOnce := int(s.Args.Limits.MaxUnavailablePerWorkload)
	if s.Policy() != plan.Drain || atOnce == 0 {
		return
	}
	ready, of := map[types.UID]int{}, map[types.UID]*snapshot.Pod{}
	for _, pod := range s.Snapshot.Pods {
		if pod.Owner != "" && pod.Node != "" {
			of[pod.Owner] = pod
			if snapshot.IsReady(pod.Object) {
				ready[pod.Owner]++
			}
		}
	}
	short := sets.New[types.UID]()
	for owner, pod := range of {
		if wanted := snapshot.Wanted(pod.Object, s.View.Workloads); wanted != nil && int(*wanted)-ready[owner] >= atOnce {
			short.Insert(owner)
		}
	}
	s.pinOwned(short, snapshot.NotWhole)
}

// keepRefused pins the pods of workloads whose replacement was refused a short while ago.
func (s *Session) keepRefused() {
	now := s.Clock.Now()
	maps.DeleteFunc(s.refusedOwners, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
	s.pin(ReasonReplacementRefused, func(pod *snapshot.Pod) (time.Time, bool) {
		until, refused := s.refusedOwners[pod.Owner]
		return until, refused
	})
}
