package priorityoptimizer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// takeOverTimeout is how long the pods that a former process evicted may take to terminate before its plan is aborted.
const takeOverTimeout = 8 * time.Second

const messageRestarted = "the scheduler was restarted while the plan was open"

// takeOver handles the plans that a former process left open. A plan that was being carried out is resumed if the rest of
// it is still a good plan for the cluster; the others are closed. It reports whether the loop is busy with one.
func (l *loop) takeOver(ctx context.Context, all []*packingplan.Record) bool {
	for _, record := range l.records.unhandled(all) {
		if isManual(record) {
			continue
		}
		if record = l.records.fresh(record); record == nil {
			continue
		}
		if record.Status.Phase != packingplan.Executing {
			l.records.handled.Insert(record.UID())
			l.records.finish(ctx, record, packingplan.Aborted, messageRestarted)
			continue
		}
		if again := l.resume(ctx, record); again {
			return true
		}
		l.records.handled.Insert(record.UID())
	}
	return l.execution != nil
}

// resume continues the plan or closes it. It reports true if that cannot be decided yet.
func (l *loop) resume(ctx context.Context, record *packingplan.Record) (again bool) {
	if record.IsRehearsed() {
		return l.resumeDrain(ctx, record)
	}
	session := l.planner.newSession(record)
	now, err := session.now(record.Status.SnapshotID)
	if err != nil {
		l.records.finish(ctx, record, packingplan.Aborted, err.Error())
		return false
	}
	left := remainderOf(&record.Status, now)
	session.snapshot, session.steps = now, left.steps
	active, err := l.activatePlan(ctx, session)
	if err != nil {
		var raised *objection
		roomToCome := left.terminating || errors.As(err, &raised) && raised.noRoom
		if roomToCome && l.clock.Since(l.leadingSince) < takeOverTimeout {
			return true
		}
		countRefusal(err)
		l.plugin.Trigger.Failed()
		l.closeNodes(ctx, record)
		l.records.finish(ctx, record, packingplan.Aborted, messageRestarted+", and cannot be resumed: "+err.Error())
		return false
	}
	// If another process has continued the plan in the meantime, its status says so and this write fails.
	if err := l.records.write(ctx, record); err != nil {
		l.plugin.Execution.Store(nil)
		l.records.logger(record).Error(err, "The plan is not resumed")
		return isTransient(err)
	}
	active.adopted = left.adopted
	active.AwaitReady(left.starting...)
	for _, pod := range left.starting {
		// They may have become ready since the snapshot was taken.
		if live := l.plugin.view.live(pod); live != nil {
			active.Note(live)
		} else {
			active.Forget(pod)
		}
	}
	l.records.logger(record).Info("Resuming the plan of a former process", "steps", len(left.steps))
	l.execution = active
	l.plugin.Hold.End()
	return false
}

// remainder is what is left of a plan.
type remainder struct {
	steps []*packingplan.Step
	// adopted are the moves whose pod was evicted and whose replacement still waits.
	adopted []*packingplan.Step
	// starting are the replacements that have not been ready yet.
	starting []*v1.Pod
	// terminating says that an evicted pod still takes room.
	terminating bool
}

// remainderOf compares a plan's status with the cluster. The status may be outdated: the process may have ended between
// an eviction and the write that records it. Of a unit that lacks a pod, nothing is left.
func remainderOf(status *packingplan.Status, now *snapshot.Snapshot) (left remainder) {
	waiting, running := waitingByKind(now), runningByPlace(status, now)
	for _, placement := range status.Placements() {
		if pod := now.Pods[types.UID(placement.PodUID)]; pod != nil && pod.Node == "" {
			waiting.take(pod)
		}
	}
	for _, unit := range packingplan.Units(status.Steps) {
		part, whole := remainder{}, true
		for _, step := range unit {
			whole = part.add(step, now, waiting, running) && whole
		}
		left.terminating = left.terminating || part.terminating
		if whole {
			left.steps, left.adopted = append(left.steps, part.steps...), append(left.adopted, part.adopted...)
			left.starting = append(left.starting, part.starting...)
		}
	}
	return left
}

// add updates the state of one step and adds what is left of it. It reports false if its pod is gone and no other has come.
func (r *remainder) add(step *packingplan.Step, now *snapshot.Snapshot, waiting waitingPods, running map[site][]*snapshot.Pod) bool {
	pod := now.Pods[types.UID(step.PodUID)]
	leaves := pod != nil && pod.Immovable == snapshot.Terminating
	switch {
	case step.From == "":
		if pod != nil && pod.Node == "" {
			r.steps = append(r.steps, step)
		}
		return pod != nil
	case step.To == "" && leaves:
		r.terminating = true
		return true
	case pod != nil && !leaves && step.State == packingplan.Waiting:
		r.steps = append(r.steps, step)
		return true
	case step.To == "" || step.State == packingplan.NotNeeded:
		return true
	}
	there := running[targetOf(step)]
	switch {
	case step.State == packingplan.Bound:
	case leaves:
		step.State, r.terminating = packingplan.Evicted, true
	case pod == nil:
		step.State = packingplan.Gone
	}
	if step.State != packingplan.Bound {
		if replacement := waiting.first(targetOf(step).kind); replacement != nil {
			r.steps = append(r.steps, &packingplan.Step{Unit: step.Unit, PodUID: string(replacement.Object.UID), To: step.To})
			r.adopted = append(r.adopted, step)
			there = []*snapshot.Pod{replacement}
		} else if len(there) > 0 {
			step.State = packingplan.Bound
		}
	}
	r.await(there...)
	return step.State == packingplan.Bound || len(there) > 0
}

// await keeps those of the pods that are not ready.
func (r *remainder) await(pods ...*snapshot.Pod) {
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
	return site{snapshot.Kind{Owner: types.UID(step.OwnerUID), Class: step.Class}, step.To}
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
		slices.SortFunc(pods, func(a, b *snapshot.Pod) int { return strings.Compare(podName(a.Object), podName(b.Object)) })
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
