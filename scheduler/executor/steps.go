package executor

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// departed says whether the pod leaves its node or has left it.
func (s *step) departed() bool { return s.state == Evicted || s.state == Gone }

// Opened must be called before the pod is evicted: its replacement may arrive before the eviction's answer. The places of
// the whole unit are opened.
func (e *Execution) Opened(uid types.UID) {
	e.Lock()
	defer e.Unlock()
	if step := e.byUID[uid]; step != nil {
		step.unit.open(e.Places)
	}
}

func (u *unit) open(places *reservation.Places) {
	for _, step := range u.steps {
		if step.opened || step.state == NotNeeded {
			continue
		}
		step.opened = true
		if step.to != "" {
			places.Change(places.Kinds[step.kind][step.to], 0, 1, -1)
		}
	}
}

// Refused undoes Opened: the eviction was refused and will be tried again. A unit of which some pod has left stays open.
func (e *Execution) Refused(uid types.UID) {
	e.Lock()
	defer e.Unlock()
	step := e.byUID[uid]
	if step == nil || step.state != Waiting || step.unit.begun() {
		return
	}
	for _, one := range step.unit.steps {
		if one.opened {
			e.close(one)
		}
	}
}

func (e *Execution) close(step *step) {
	if step.to == "" {
		step.opened = false
		return
	}
	if place := e.Kinds[step.kind][step.to]; place.InFlight > 0 {
		e.Change(place, 0, -1, 1)
		step.opened = false
		return
	}
	e.retarget(step) // another pod of the kind has taken the place meanwhile
}

// Evicted marks the pod as evicted by the API.
func (e *Execution) Evicted(uid types.UID) {
	e.Lock()
	defer e.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == Waiting {
		step.state = Evicted
		if step.unit.name != "" {
			step.unit.open(e.Places) // another eviction of the unit may have been refused
		}
	}
}

// Gone marks the pod as gone from its node.
func (e *Execution) Gone(uid types.UID) {
	e.Lock()
	defer e.Unlock()
	step := e.byUID[uid]
	if step == nil || step.state != Evicted {
		return
	}
	step.state = Gone
	e.pair(step.kind)
}

// Departing are the pods that are to leave, and those that have left.
func (e *Execution) Departing() sets.Set[types.UID] {
	e.Lock()
	defer e.Unlock()
	departing := make(sets.Set[types.UID], len(e.byUID))
	for uid, step := range e.byUID {
		if step.state != NotNeeded {
			departing.Insert(uid)
		}
	}
	return departing
}

// LongestGrace is the longest termination grace period of the pods that are leaving.
func (e *Execution) LongestGrace() time.Duration {
	e.Lock()
	defer e.Unlock()
	var longest time.Duration
	for _, step := range e.byUID {
		if step.state == Evicted {
			longest = max(longest, time.Duration(step.grace)*time.Second)
		}
	}
	return longest
}

// Leaving are the pods that were evicted and are not gone yet.
func (e *Execution) Leaving() []*snapshot.Pod {
	e.Lock()
	defer e.Unlock()
	var pods []*snapshot.Pod
	for _, step := range e.byUID {
		if step.state == Evicted {
			pods = append(pods, step.pod)
		}
	}
	return pods
}

// LeftUnplaced counts the pods of the pod's owner that the plan has evicted without a place for a replacement.
func (e *Execution) LeftUnplaced(pod *v1.Pod) (count int) {
	owner := reservation.OwnerOf(pod)
	e.Lock()
	defer e.Unlock()
	for _, step := range e.evictions {
		if step.opened && step.kind.Owner == owner && step.pod.Object.UID != pod.UID {
			count++
		}
	}
	return count
}

// Describe puts the states of moves and evictions, and all targets, into the steps of the plan's object. It reports whether
// anything changed.
func (e *Execution) Describe(steps []*packingplan.Step) (changed bool) {
	e.Lock()
	defer e.Unlock()
	for _, one := range e.exchanged {
		at := slices.IndexFunc(steps, func(told *packingplan.Step) bool {
			arrives := e.byUID[types.UID(told.PodUID)] == nil && told.State != Bound && told.State != NotNeeded
			return arrives && told.To == one.from && snapshot.KindOf(told) == one.kind
		})
		if at >= 0 {
			steps[at].To, changed = one.to, true
		}
	}
	e.exchanged = nil
	for _, told := range steps {
		if step := e.byUID[types.UID(told.PodUID)]; step != nil && (told.State != step.state || told.To != step.to) {
			told.State, told.To, changed = step.state, step.to, true
		}
	}
	return changed
}
