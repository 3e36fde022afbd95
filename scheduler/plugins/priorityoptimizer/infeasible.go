package priorityoptimizer

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// minShortage is how long room must be lacking before the plan is aborted for it.
	minShortage = time.Second
	// vanishedAfter is how long a plan waits for a controller to replace waiting pods that are gone.
	vanishedAfter = 5 * time.Second
)

// statesOf are the states of the nodes that the plan sends pods to.
func statesOf(now *snapshot.Snapshot, targets map[types.UID]string) map[string]string {
	states := map[string]string{}
	for _, node := range targets {
		if node != "" {
			states[node] = now.Nodes[node].State
		}
	}
	return states
}

// infeasible is why the rest of the plan can no longer be carried out, or "". To continue would only disrupt more pods.
func (l *loop) infeasible(active *activePlan, progress executor.Progress, free map[string]resources.Vector) string {
	now := l.clock.Now()
	if progress != active.progress {
		active.progress, active.changed = progress, now
	}
	if now.Sub(active.changed) >= vanishedAfter && active.execution.GiveUpVanished() > 0 {
		return ""
	}
	if timeout := l.stepTimeout(active); now.Sub(active.changed) >= timeout {
		return fmt.Sprintf("no step was done for %s: %d pods had not arrived, %d not left; "+
			"did their controllers create replacements?", timeout, progress.Arrivals, progress.Departures)
	}
	outstanding := active.execution.Outstanding()
	for node := range outstanding {
		state, err := l.view.nodeState(node)
		switch {
		case err != nil:
			return fmt.Sprintf("node %q, which the plan sends pods to, is gone", node)
		case state != active.nodes[node]:
			return fmt.Sprintf("node %q, which the plan sends pods to, was changed", node)
		}
	}
	return active.missingRoom(outstanding, free, now)
}

// missingRoom says which room the plan lacks, or "". The free room and the plan's places are read one after the other,
// so a pod that is just being bound, or whose binding just failed, may count twice. So room must be lacking for a while.
func (active *activePlan) missingRoom(outstanding, free map[string]resources.Vector, now time.Time) string {
	room := active.execution.RoomToCome()
	since := map[string]time.Time{}
	for node, needed := range outstanding {
		short := needed.ShortOf(free[node].Plus(room[node]))
		if short == "" {
			continue
		}
		began, before := active.shortSince[node]
		if !before {
			began = now
		}
		if now.Sub(began) >= minShortage {
			return fmt.Sprintf("node %q has too little %s left for the pods that the plan sends there", node, short)
		}
		since[node] = began
	}
	active.shortSince = since
	return ""
}

// stepTimeout is how long a plan may make no progress: pods that are leaving get their grace period on top.
func (l *loop) stepTimeout(active *activePlan) time.Duration {
	return seconds(*l.args.StepTimeoutSeconds) + active.execution.LongestGrace()
}
