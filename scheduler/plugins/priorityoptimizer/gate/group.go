package gate

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// The scheduler tries the pods of a pod group together: one after the other on a copy of the nodes, until it knows
// whether enough of them fit. Then it takes all of that back, and reserves for those that fit once more, one by one,
// before it binds them. In the queue they are one entry, which is held back as long as any of them is. So what the gate
// says of one pod of a group must hold for all: a group of which some may go on and some may not would only fail, and
// hold room meanwhile.

// messageGroupGaveUp is for pods that wait in Permit for others of their group.
const messageGroupGaveUp = "the rest of its pod group found no node"

// groupCycle is what the scheduling cycle of a pod group knows of it, from the first pod that is tried to the last one
// that is reserved. Only the goroutine of the scheduling cycles uses it, apart from restricted.
type groupCycle struct {
	execution *executor.Execution
	back      *heldBack
	// reason is why the pods wait although they have been let into the cycle; empty if they need not.
	reason waiting.Reason
	// trial counts the places of the plan that its pods have taken. planned: there are some for the group.
	trial   *executor.Trial
	planned bool
	// restricted: the plan limits the nodes of one of them.
	restricted atomic.Bool
	// decided: the first pod is being reserved, or has been. held: that was during a hold, so no pod of the group is
	// bound.
	decided, held bool
}

// Clone returns the state itself, as pods share it.
func (c *groupCycle) Clone() fwk.StateData { return c }

// groupOf is the pod group with which the scheduler tries the pod, or "".
func (g *Gate) groupOf(pod *v1.Pod) string {
	if !g.triesGroups {
		return ""
	}
	return snapshot.GroupOf(pod)
}

// groupCycleOf is that of the pod group that the scheduler is trying; nil if it tries the pod alone.
func (g *Gate) groupCycleOf(state fwk.CycleState, pod *v1.Pod) *groupCycle {
	if !g.triesGroups || !state.IsPodGroupSchedulingCycle() {
		return nil
	}
	shared := state.GetPodGroupSchedulingCycle()
	if cycle := readGroupCycle(shared); cycle != nil {
		return cycle
	}
	cycle := &groupCycle{execution: g.Execution.Load(), back: g.back.Load()}
	cycle.trial = cycle.execution.Try()
	cycle.planned, _ = waitsForItsUnit(g.groupOf(pod), cycle.execution)
	_, cycle.reason = g.gate(pod, cycle.execution, nil)
	cycle.restricted.Store(cycle.reason != "")
	shared.Write(cycleStateKey, cycle)
	return cycle
}

func readGroupCycle(shared fwk.PodGroupCycleState) *groupCycle {
	if data, err := shared.Read(cycleStateKey); err == nil {
		if cycle, ok := data.(*groupCycle); ok {
			return cycle
		}
	}
	return nil
}

// gateMember is what the gate says of a pod while the scheduler tries its group. A pod for which the plan has no place,
// or none that is left, waits until the others have theirs: the scheduler tries it again as soon as these are reserved.
func (g *Gate) gateMember(pod *v1.Pod, cycle *groupCycle) (nodes []string, reason waiting.Reason) {
	defer func() { g.Waiting.Put(pod, reason, nil) }()
	if cycle.reason != "" {
		return nil, cycle.reason
	}
	nodes, planned := cycle.trial.Nodes(pod, g.freeOn)
	if (planned || cycle.planned) && len(nodes) == 0 {
		cycle.restricted.Store(true)
		return nil, ReasonReserved
	}
	return nodes, ""
}

// isHeld says whether the pods of the group wait for the end of a hold. What is so when the first one is reserved is so
// for all: else some would wait in Permit, with their room, for those that came too late.
func (c *groupCycle) isHeld(hold *Hold) bool {
	if !c.decided {
		c.decided, c.held = true, hold.Active()
	}
	return c.held
}

// waitsForItsUnit says whether the plan has places for pods of the group, and cannot have all of them come yet.
func waitsForItsUnit(group string, execution *executor.Execution) (planned, waits bool) {
	planned, ready := execution.Lacks(plan.UnitOfGang(group))
	return planned, planned && !ready
}

// signatureOf is the scheduling signature of the pod. The pods of a group have one: where the group fails, one more pod
// like those that have failed, or unlike them, does not help.
func (g *Gate) signatureOf(pod *v1.Pod) string {
	if group := g.groupOf(pod); group != "" {
		return plan.UnitOfGang(group)
	}
	return snapshot.SignatureOf(pod, g.book)
}

// groupFailed marks the pods of a group of which not enough have found nodes, unless this plugin kept them off nodes.
// Others of the group that wait for these in Permit give their room back, unless these will be tried soon. Plugins that
// come later may still help the group.
func (g *Gate) groupFailed(state fwk.PodGroupCycleState, pods []*v1.Pod) *fwk.Status {
	cycle, message := readGroupCycle(state), "marked for the optimiser"
	for _, pod := range pods {
		switch {
		case cycle != nil && cycle.reason != "":
			g.Waiting.Put(pod, cycle.reason, nil)
			message = string(cycle.reason)
		case cycle != nil && cycle.restricted.Load():
			g.Waiting.Put(pod, ReasonReserved, nil)
			message = string(ReasonReserved)
		default:
			g.Waiting.Remove(pod.UID)
			g.Trigger.Mark(pod.UID, g.signatureOf(pod), pod.CreationTimestamp.Time)
		}
	}
	if len(pods) > 0 && (cycle == nil || cycle.reason == "") {
		g.rejectWaiting(g.groupOf(pods[0]))
	}
	g.WakeUp()
	return fwk.NewStatus(fwk.Unschedulable, message)
}

// rejectWaiting rejects the pods of the group that wait in Permit.
func (g *Gate) rejectWaiting(group string) {
	g.handle.IterateOverWaitingPods(func(one fwk.WaitingPod) {
		if g.groupOf(one.GetPod()) == group {
			one.Reject(Name, messageGroupGaveUp)
		}
	})
}
