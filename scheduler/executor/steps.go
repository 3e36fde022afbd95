package executor

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Opened must be called before the pod is evicted: its replacement may arrive before the eviction's answer. The places of
// the whole unit are opened.
func (e *Execution) Opened(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil {
		e.openAll(step.unit)
	}
}

func (e *Execution) openAll(together *unit) {
	for _, step := range together.steps {
		if step.opened || step.state == packingplan.NotNeeded {
			continue
		}
		step.opened = true
		if step.To != "" {
			e.change(e.target(step), 0, 1, -1)
		}
	}
}

// target are the places where the step's replacement may go.
func (e *Execution) target(s *step) *Place { return e.kinds[s.Pod.Kind()][s.To] }

// Refused undoes Opened: the eviction was refused and will be tried again. A unit stays open once it has begun.
func (e *Execution) Refused(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.byUID[uid]
	if step == nil || step.state != packingplan.Waiting {
		return
	}
	if step.unanswered = false; step.unit.begun() {
		return
	}
	for _, one := range step.unit.steps {
		switch {
		case !one.opened:
		case one.To == "":
			one.opened = false
		case e.target(one).inFlight > 0:
			one.opened = false
			e.change(e.target(one), 0, -1, 1)
		default:
			e.retarget(one) // another pod of the kind has taken the place meanwhile
		}
	}
}

// Unanswered notes that the pod may have been evicted, and that the eviction will be tried again. Until then its place stays
// open, since its replacement may come, and the move counts as under way.
func (e *Execution) Unanswered(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == packingplan.Waiting {
		step.unanswered = true
	}
}

// Evicted marks the pod as evicted by the API.
func (e *Execution) Evicted(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == packingplan.Waiting {
		step.state, step.unanswered = packingplan.Evicted, false
		if step.Unit != "" {
			e.openAll(step.unit) // another eviction of the unit may have been refused
		}
	}
}

// Gone marks the pod as gone from its node.
func (e *Execution) Gone(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == packingplan.Evicted {
		step.state = packingplan.Gone
		e.pair(step.Pod.Kind())
	}
}

// Departing are the pods that are to leave, and those that have left.
func (e *Execution) Departing() sets.Set[types.UID] {
	e.mu.Lock()
	defer e.mu.Unlock()
	departing := make(sets.Set[types.UID], len(e.steps))
	for _, step := range e.steps {
		if step.state != packingplan.NotNeeded {
			departing.Insert(step.uid())
		}
	}
	return departing
}

// Leaving are the pods that were evicted and are not gone yet.
func (e *Execution) Leaving() (pods []*snapshot.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, step := range e.steps {
		if step.state == packingplan.Evicted {
			pods = append(pods, step.Pod)
		}
	}
	return pods
}

// LeftUnplaced counts the pods of the pod's owner that the plan has evicted without a place for a replacement.
func (e *Execution) LeftUnplaced(pod *v1.Pod) (count int) {
	owner := snapshot.OwnerOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, step := range e.evictions() {
		if step.opened && step.Pod.Kind().Owner == owner && step.uid() != pod.UID {
			count++
		}
	}
	return count
}

// Describe puts the states of moves and evictions, and all targets, into the steps of the plan's object. It reports whether
// anything changed.
func (e *Execution) Describe(steps []*packingplan.Step) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.exchanged {
		at := slices.IndexFunc(steps, func(told *packingplan.Step) bool {
			arrives := e.byUID[types.UID(told.PodUID)] == nil && told.State != packingplan.Bound && told.State != packingplan.NotNeeded
			return arrives && told.To == one.from && snapshot.KindOf(told) == one.kind
		})
		if at >= 0 {
			steps[at].To, changed = one.to, true
		}
	}
	e.exchanged = nil
	for _, told := range steps {
		if step := e.byUID[types.UID(told.PodUID)]; step != nil && (told.State != step.state || told.To != step.To) {
			told.State, told.To, changed = step.state, step.To, true
		}
	}
	return changed
}
