package execution

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Remainder is what is left of a plan.
type Remainder struct {
	Steps []*packingplan.Step
	// starting are the replacements that have not been ready yet.
	starting []*v1.Pod
	// Awaited are the moves whose pod has left, and whose replacement is still to come.
	Awaited []*packingplan.Step
	// Left are the steps of pods that a former process took off their nodes.
	Left []*packingplan.Step
	// CarriedOn are the units of which some pods have left or come, and some have not.
	CarriedOn []string
	// Leaving: pods still terminate on nodes of the plan, which get room by that.
	Leaving bool
}

// RemainderOf compares a plan's status with the cluster. The status may be outdated: the process may have ended between
// an eviction and the write that records it. Of a unit that lacks a pod nothing is left, unless it has begun: then what
// has left or come for it is of no use without the rest, and the places of pods that are still to be created are kept.
func RemainderOf(record *packingplan.Record, now *snapshot.Snapshot) (left Remainder) {
	status, nodes := &record.Status, sets.New[string]()
	for _, step := range status.Steps {
		nodes.Insert(step.From, step.To)
		switch pod := now.Pods[types.UID(step.PodUID)]; {
		case step.From == "" || step.State == packingplan.NotNeeded || step.State == packingplan.Bound:
		case pod == nil:
			step.State = packingplan.Gone
		case pod.Immovable == snapshot.Terminating:
			step.State = packingplan.Evicted
		}
		if step.State.Disrupted() {
			left.Left = append(left.Left, &packingplan.Step{PodUID: step.PodUID, From: step.From})
		}
	}
	for _, pod := range now.Pods {
		left.Leaving = left.Leaving || pod.Immovable == snapshot.Terminating && nodes.Has(pod.Node)
	}
	arrived := arrivalsOf(record, now)
	for _, pod := range arrived {
		if !podutil.IsPodReady(pod.Object) {
			left.starting = append(left.starting, pod.Object)
		}
	}
	turns := executor.TurnsOf(status.Steps)
	open, waiting := dealPlaces(status, now, arrived), replacementsOf(status, now)
	turns.Deal(status.Steps, func(step *packingplan.Step) int { // who came had the first turns
		switch {
		case open.Has(step):
			return 1
		case step.State == packingplan.NotNeeded:
			return 2
		}
		return 0
	})
	for _, unit := range packingplan.Units(status.Steps) {
		part, whole, begun, name := Remainder{}, true, false, unit[0].Unit
		for _, step := range unit {
			whole = part.add(step, now.Pods[types.UID(step.PodUID)], open.Has(step), waiting) && whole
			begun = begun || hasBegun(step, open.Has(step))
		}
		if name == "" || begun {
			left.Awaited = append(left.Awaited, part.Awaited...)
		}
		if whole || begun {
			left.Steps, left.starting = append(left.Steps, part.Steps...), append(left.starting, part.starting...)
		}
		if name != "" && begun && len(part.Steps)+len(part.Awaited) > 0 {
			left.CarriedOn = append(left.CarriedOn, name)
		}
	}
	return left
}

// hasBegun says that the pod of the step has left its node, or one has come to its place; open says that none has.
func hasBegun(step *packingplan.Step, open bool) bool {
	return step.State.Disrupted() || step.From == "" && !open && step.State != packingplan.NotNeeded
}

// add adds what is left of one step; open says that its place is. It reports false if its pod is gone and no other has
// come.
func (r *Remainder) add(step *packingplan.Step, pod *snapshot.Pod, open bool, waiting podsByKey) bool {
	switch {
	case step.From == "":
		switch {
		case open && waits(pod):
			r.Steps = append(r.Steps, step)
		case open: // nobody comes any more: other pods may take the room from now on, and no later process holds it again
			step.State = packingplan.NotNeeded
		}
		return pod != nil
	case step.State == packingplan.Waiting && open:
		r.Steps = append(r.Steps, step)
	case step.State == packingplan.Waiting: // another pod has its place
		step.State = packingplan.NotNeeded
	case step.State == packingplan.NotNeeded || step.To == "":
	case !open:
		step.State = packingplan.Bound
	default:
		pods := waiting[snapshot.ReplicaKeyOf(step)]
		if len(pods) == 0 {
			r.Awaited = append(r.Awaited, step)
			return false
		}
		waiting[snapshot.ReplicaKeyOf(step)] = pods[1:]
		r.Steps = append(r.Steps, &packingplan.Step{Unit: step.Unit, PodUID: string(pods[0].Object.UID), To: step.To,
			Turn: step.Turn, Devices: step.Devices})
		r.starting = append(r.starting, pods[0].Object)
	}
	return true
}

// waits says whether the pod is there and has no node.
func waits(pod *snapshot.Pod) bool { return pod != nil && pod.Node == "" }

// site is where pods that can replace each other run.
type site struct {
	key  snapshot.ReplicaKey
	node string
}

func targetOf(step *packingplan.Step) site {
	return site{snapshot.ReplicaKeyOf(step), step.To}
}

// arrivalsOf are the pods that have taken a place of the plan and stay, whichever pod it was for. A pod elsewhere, or of
// another owner or class, has taken none, whatever its annotation says: tenants can write annotations too.
func arrivalsOf(record *packingplan.Record, now *snapshot.Snapshot) (arrived []*snapshot.Pod) {
	targets := sets.New[site]()
	for _, step := range record.Status.Steps {
		targets.Insert(targetOf(step))
	}
	for _, pod := range now.Pods {
		taken, some := reservation.TakenBy(pod.Object)
		if some && taken.UID == record.UID() && pod.Immovable != snapshot.Terminating && !waits(pod) &&
			targets.Has(site{pod.ReplicaKey(), pod.Node}) {
			arrived = append(arrived, pod)
		}
	}
	return arrived
}

// dealPlaces deals the targets of the steps that are not done out anew: those that no pod has taken go first to the
// pods that still run, then to those that wait, then to the replacements that are still to come. It returns the steps
// that get one of them. A step keeps its target if it can. Replicas are alike, so the plan leads to the same state. An
// eviction's target is no node: where another replica has come for the pod that left, one that still runs leaves instead.
func dealPlaces(status *packingplan.Status, now *snapshot.Snapshot, arrived []*snapshot.Pod,
) (open sets.Set[*packingplan.Step]) {
	taken := map[site]int{}
	for _, pod := range arrived {
		taken[site{pod.ReplicaKey(), pod.Node}]++
	}
	for _, step := range status.Steps {
		if step.State == packingplan.Bound {
			taken[targetOf(step)]--
		}
	}
	free, filled := map[snapshot.ReplicaKey][]*packingplan.Step{}, map[snapshot.ReplicaKey][]*packingplan.Step{}
	for _, step := range status.Steps {
		at := targetOf(step)
		switch {
		case step.State == packingplan.Bound || step.State == packingplan.NotNeeded:
		case taken[at] > 0:
			taken[at]--
			filled[at.key] = append(filled[at.key], step)
		default:
			free[at.key] = append(free[at.key], step)
		}
	}
	turn := func(step *packingplan.Step) int {
		switch {
		case step.State == packingplan.Waiting:
			return 0
		case step.To == "":
			return 1
		case waits(now.Pods[types.UID(step.PodUID)]):
			return 2
		case step.From != "":
			return 3
		}
		return 4
	}
	open = sets.New[*packingplan.Step]()
	for key, places := range free {
		steps := slices.Concat(places, filled[key])
		slices.SortStableFunc(steps, func(a, b *packingplan.Step) int { return turn(a) - turn(b) })
		come, done := steps[:len(places)], steps[len(places):]
		nodes, others := nodesOf(places), nodesOf(filled[key])
		assign(come, nodes)
		assign(done, others)
		open.Insert(come...)
	}
	return open
}

func nodesOf(steps []*packingplan.Step) (nodes []string) {
	for _, step := range steps {
		nodes = append(nodes, step.To)
	}
	return nodes
}

// assign gives each of the steps one of as many nodes: its own target if that is one of them. A pod that runs there
// stays.
func assign(steps []*packingplan.Step, nodes []string) {
	elsewhere := slices.DeleteFunc(slices.Clone(steps), func(step *packingplan.Step) bool {
		i := slices.Index(nodes, step.To)
		if i >= 0 {
			nodes = slices.Delete(nodes, i, i+1)
		}
		return i >= 0
	})
	for i, step := range elsewhere {
		if step.To = nodes[i]; step.To == step.From && step.State == packingplan.Waiting {
			step.State = packingplan.NotNeeded
		}
	}
}

type podsByKey map[snapshot.ReplicaKey][]*snapshot.Pod

// replacementsOf are the waiting pods that the plan does not name, by their keys and in the order of names.
func replacementsOf(status *packingplan.Status, now *snapshot.Snapshot) podsByKey {
	named, waiting := sets.New[string](), podsByKey{}
	for _, step := range status.Steps {
		named.Insert(step.PodUID)
	}
	for uid, pod := range now.Pods {
		if waits(pod) && pod.Owner != "" && !named.Has(string(uid)) {
			waiting[pod.ReplicaKey()] = append(waiting[pod.ReplicaKey()], pod)
		}
	}
	for _, pods := range waiting {
		slices.SortFunc(pods, func(a, b *snapshot.Pod) int {
			return strings.Compare(klog.KObj(a.Object).String(), klog.KObj(b.Object).String())
		})
	}
	return waiting
}
