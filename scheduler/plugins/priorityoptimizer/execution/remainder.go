package execution

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Remainder is what is left of a plan.
type Remainder struct {
	Steps []*packingplan.Step
	// adopted are the moves whose pod was evicted and whose replacement still waits.
	adopted []*packingplan.Step
	// starting are the replacements that have not been ready yet.
	starting []*v1.Pod
	// Awaited are the moves whose pod has left, and whose replacement is still to come.
	Awaited []*packingplan.Step
	// Terminating are the evicted pods that still take room.
	Terminating []*snapshot.Pod
}

// RemainderOf compares a plan's status with the cluster. The status may be outdated: the process may have ended between
// an eviction and the write that records it. Of a unit that lacks a pod, nothing is left.
func RemainderOf(record *packingplan.Record, now *snapshot.Snapshot) (left Remainder) {
	status := &record.Status
	waiting, running, arrived := waitingByKind(now), runningByPlace(status, now), arrivedByPlace(record, now)
	for _, placement := range status.Placements() {
		if pod := now.Pods[types.UID(placement.PodUID)]; pod != nil && pod.Node == "" {
			waiting.take(pod)
		}
	}
	for _, unit := range packingplan.Units(status.Steps) {
		part, whole := Remainder{}, true
		for _, step := range unit {
			whole = part.add(step, now, waiting, running, arrived) && whole
		}
		left.Terminating = append(left.Terminating, part.Terminating...)
		if unit[0].Unit == "" {
			left.Awaited = append(left.Awaited, part.Awaited...)
		}
		if whole {
			left.Steps, left.adopted = append(left.Steps, part.Steps...), append(left.adopted, part.adopted...)
			left.starting = append(left.starting, part.starting...)
		}
	}
	return left
}

// add updates the state of one step and adds what is left of it. It reports false if its pod is gone and no other has come.
func (r *Remainder) add(step *packingplan.Step, now *snapshot.Snapshot, waiting waitingPods, running map[site][]*snapshot.Pod,
	arrived map[site]int,
) bool {
	pod := now.Pods[types.UID(step.PodUID)]
	leaves := pod != nil && pod.Immovable == snapshot.Terminating
	if leaves && step.From != "" && step.State != packingplan.NotNeeded && step.State != packingplan.Bound {
		r.Terminating = append(r.Terminating, pod)
	}
	switch {
	case step.From == "":
		if pod != nil && pod.Node == "" && !take(arrived, targetOf(step)) {
			r.Steps = append(r.Steps, step)
		}
		return pod != nil
	case step.To == "" && leaves:
		return true
	case pod != nil && !leaves && step.State == packingplan.Waiting:
		r.Steps = append(r.Steps, step)
		return true
	case step.To == "" || step.State == packingplan.NotNeeded:
		return true
	}
	there := running[targetOf(step)]
	switch {
	case step.State == packingplan.Bound:
	case leaves:
		step.State = packingplan.Evicted
	case pod == nil:
		step.State = packingplan.Gone
	}
	if step.State != packingplan.Bound {
		if take(arrived, targetOf(step)) {
			step.State = packingplan.Bound
		} else if replacement := waiting.first(targetOf(step).kind); replacement != nil {
			r.Steps = append(r.Steps, &packingplan.Step{Unit: step.Unit, PodUID: string(replacement.Object.UID), To: step.To})
			r.adopted = append(r.adopted, step)
			there = []*snapshot.Pod{replacement}
		} else if len(there) > 0 {
			step.State = packingplan.Bound
		} else {
			r.Awaited = append(r.Awaited, step)
		}
	}
	r.await(there...)
	return step.State == packingplan.Bound || len(there) > 0
}

// await keeps those of the pods that are not ready.
func (r *Remainder) await(pods ...*snapshot.Pod) {
	for _, pod := range pods {
		if !podutil.IsPodReady(pod.Object) {
			r.starting = append(r.starting, pod.Object)
		}
	}
}

// site is where pods of one kind run.
type site struct {
	kind snapshot.Kind
	node string
}

func targetOf(step *packingplan.Step) site {
	return site{snapshot.KindOf(step), step.To}
}

// runningByPlace are the pods that run, and stay, where the plan's replacements go.
func runningByPlace(status *packingplan.Status, now *snapshot.Snapshot) map[site][]*snapshot.Pod {
	running := map[site][]*snapshot.Pod{}
	for _, move := range status.Moves() {
		running[targetOf(move)] = nil
	}
	for _, pod := range now.Pods {
		at := site{pod.Kind(), pod.Node}
		if _, target := running[at]; target && pod.Immovable != snapshot.Terminating {
			running[at] = append(running[at], pod)
		}
	}
	return running
}

// arrivedByPlace counts the pods that have taken a place of the plan, whichever pod it was for, less those of steps that are
// known to be done.
func arrivedByPlace(record *packingplan.Record, now *snapshot.Snapshot) map[site]int {
	arrived := map[site]int{}
	for _, pod := range now.Pods {
		if taken, some := reservation.TakenBy(pod.Object); some && taken.UID == record.UID() && pod.Immovable != snapshot.Terminating {
			arrived[site{pod.Kind(), pod.Node}]++
		}
	}
	for _, step := range record.Status.Steps {
		pod := now.Pods[types.UID(step.PodUID)]
		if step.State == packingplan.Bound || step.From == "" && pod != nil && pod.Node == step.To {
			arrived[targetOf(step)]--
		}
	}
	return arrived
}

// take takes one of those that are left, if any is.
func take(left map[site]int, at site) bool {
	some := left[at] > 0
	if some {
		left[at]--
	}
	return some
}

// waitingPods are the waiting pods that no placement or move has claimed yet, by kind and in the order of names.
type waitingPods map[snapshot.Kind][]*snapshot.Pod

func waitingByKind(now *snapshot.Snapshot) waitingPods {
	waiting := waitingPods{}
	for _, pod := range now.Pods {
		if pod.Node == "" && pod.Owner != "" {
			of := pod.Kind()
			waiting[of] = append(waiting[of], pod)
		}
	}
	for _, pods := range waiting {
		slices.SortFunc(pods, func(a, b *snapshot.Pod) int {
			return strings.Compare(klog.KObj(a.Object).String(), klog.KObj(b.Object).String())
		})
	}
	return waiting
}

func (w waitingPods) take(pod *snapshot.Pod) {
	of := pod.Kind()
	w[of] = slices.DeleteFunc(w[of], func(other *snapshot.Pod) bool { return other == pod })
}

func (w waitingPods) first(of snapshot.Kind) *snapshot.Pod {
	if len(w[of]) == 0 {
		return nil
	}
	pod := w[of][0]
	w[of] = w[of][1:]
	return pod
}
