package simulation

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Continued is what the scheduler makes of the pods that wait, without preempting any.
type Continued struct {
	// Placements maps namespace/name of the pods that got a node to it.
	Placements map[string]string `json:"placements"`
	// Reasons says in the scheduler's words, by namespace/name, what keeps a pod. Of equal pods one is tried until it
	// has a node, and its reason is that of all.
	Reasons map[string]string `json:"reasons,omitempty"`
	// Awaiting are the pods that got a node and whose volumes somebody has still to make.
	Awaiting []Remark `json:"awaiting,omitempty"`
	// Untried counts the pods whose turn did not come in time.
	Untried int `json:"untried,omitempty"`
	// Seconds is how long that took.
	Seconds float64 `json:"seconds"`
}

// reasonOf is what the scheduler reports of a pod that it could not place: how many nodes refused it, and why. What
// plugins say that look for victims is left out.
func reasonOf(status *fwk.Status) string {
	var unfit *framework.FitError
	if !errors.As(status.AsError(), &unfit) {
		return status.Message()
	}
	filtered := *unfit
	filtered.Diagnosis.PostFilterMsg = ""
	return filtered.Error()
}

// carryOut does at once what the plan says, in the order of its rehearsal: so moved and placed pods get the devices that they
// had there.
func (r *run) carryOut(checked checkedPlan) error {
	for _, event := range checked.events {
		if err := r.have(event); err != nil {
			return fmt.Errorf("pod %s: %w", key(event.Pod.Object), err)
		}
	}
	for _, step := range checked.Evictions { // also those that the rehearsal could do without
		if err := r.remove(podResource, step.Pod.Object.Namespace, step.Pod.Object.Name); err != nil {
			return fmt.Errorf("pod %s: %w", key(step.Pod.Object), err)
		}
	}
	return nil
}

// have has the event of a rehearsal happen.
func (r *run) have(event rehearsal.Event) error {
	pod := event.Pod.Object.DeepCopy()
	pod.Spec.NodeName = event.To
	switch {
	case event.To == "":
		return r.remove(podResource, pod.Namespace, pod.Name)
	case event.Pod.Node != "":
		pod.ResourceVersion = ""
		pod.Status.ResourceClaimStatuses, pod.Status.ExtendedResourceClaimStatus = nil, nil
		return r.storePod(pod)
	}
	if err := r.put(podResource, pod); err != nil {
		return err
	}
	return r.giveDevices(key(pod))
}

// turns lets the pods that wait be tried one after the other. While one of a class cannot be placed, no other of it is
// tried: what keeps the one keeps them all. Each try takes as long as there are nodes.
type turns struct {
	run   *run
	seen  *snapshot.Snapshot
	until time.Time
	found Continued
	// stuck are the pods that could not be placed, by class; behind are those of the class whose turn comes after.
	stuck  map[string]types.UID
	behind map[string][]*v1.Pod
	bound  []*v1.Pod
}

// continueWith tries the pods that wait, in the order of the instance, until the time is up.
func (r *run) continueWith(seen *snapshot.Snapshot, pods []v1.Pod, limit time.Duration) (*Continued, error) {
	began := time.Now()
	t := &turns{run: r, seen: seen, until: began.Add(limit), stuck: map[string]types.UID{},
		behind: map[string][]*v1.Pod{}, found: Continued{Placements: map[string]string{}, Reasons: map[string]string{}}}
	r.note, r.leave = t.note, t.giveUp
	for _, turn := range inTurn(t.takeAll(pods)) {
		class := t.class(turn[0])
		if _, stuck := t.stuck[class]; stuck {
			t.behind[class] = append(t.behind[class], turn[0])
			continue
		}
		if err := t.try(turn...); err != nil {
			return nil, err
		}
	}
	t.found.Seconds = time.Since(began).Seconds()
	return &t.found, nil
}

// inTurn are the pods one by one, but those of a pod group together, at the turn of the first.
func inTurn(pods []*v1.Pod) [][]*v1.Pod {
	var turns [][]*v1.Pod
	groups := map[string]int{}
	for _, pod := range pods {
		if isInGroup(pod) {
			name := nameOf(pod.Namespace, ptr.Deref(pod.Spec.SchedulingGroup.PodGroupName, ""))
			if turn, begun := groups[name]; begun {
				turns[turn] = append(turns[turn], pod)
				continue
			}
			groups[name] = len(turns)
		}
		turns = append(turns, []*v1.Pod{pod})
	}
	return turns
}

// takeAll takes the pods that wait out of the scheduler's queue, which would try them all at once.
func (t *turns) takeAll(pods []v1.Pod) (waiting []*v1.Pod) {
	for i := range pods {
		current, there := t.run.api.pod(key(&pods[i]))
		if !there || current.Spec.NodeName != "" || t.seen.Pods[current.UID] == nil {
			continue // it has a node, or the plan has placed it
		}
		if lacksItsGroup(current) {
			t.found.Reasons[key(current)] = withoutItsGroup
			continue
		}
		minor.Delete(t.run.scheduler.SchedulingQueue, klog.Background(), current)
		waiting = append(waiting, current)
	}
	return waiting
}

// class is what equal pods share. Pods that need what the contract cannot express may differ in just that.
func (t *turns) class(pod *v1.Pod) string {
	known := t.seen.Pods[pod.UID]
	if known.Unsupported {
		return "only " + string(pod.UID)
	}
	return known.Class
}

// try tries a pod or a pod group, and then those whose turn comes because it or another one has got a node.
func (t *turns) try(pods ...*v1.Pod) error {
	if !time.Now().Before(t.until) {
		t.found.Untried += len(pods)
		return nil
	}
	for _, pod := range pods {
		t.run.scheduler.SchedulingQueue.Add(t.run.ctx, pod)
		t.stuck[t.class(pod)] = pod.UID
	}
	if err := t.run.settle(); err != nil {
		return err
	}
	for len(t.bound) > 0 {
		class := t.class(t.bound[0])
		first := t.stuck[class] == t.bound[0].UID
		t.bound = t.bound[1:]
		if !first {
			continue
		}
		delete(t.stuck, class)
		if behind := t.behind[class]; len(behind) > 0 {
			t.behind[class] = behind[1:]
			if err := t.try(behind[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// note keeps what became of a pod, and says whether it was bound.
func (t *turns) note(ended outcome) (bound bool, err error) {
	pod := ended.pod
	if pod.Spec.NodeName != "" {
		t.found.Placements[key(pod)] = pod.Spec.NodeName
		t.found.Awaiting = append(t.found.Awaiting, t.run.awaiting(pod)...)
		delete(t.found.Reasons, key(pod))
		t.bound = append(t.bound, pod)
		return true, nil
	}
	t.found.Reasons[key(pod)] = ended.reason
	if ended.err != nil {
		// The scheduler would try it again and again; what is wrong is known now.
		return false, t.giveUp(pod, ended.err)
	}
	return false, nil
}

// giveUp takes a pod out of the queue that would be tried without end.
func (t *turns) giveUp(pod *v1.Pod, reason error) error {
	t.found.Reasons[key(pod)] = reason.Error()
	minor.Delete(t.run.scheduler.SchedulingQueue, klog.Background(), pod)
	return nil
}
