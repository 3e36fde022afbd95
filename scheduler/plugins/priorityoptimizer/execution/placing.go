package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// wakeEvery is how often the pods of a plan are activated although nothing changed.
const wakeEvery = time.Second

// placing is the order of a plan whose pods this scheduler places.
type placing struct {
	*executor.Execution
	in *ActivePlan
	// touched are the nodes that the plan's pods leave or arrive on.
	touched  []string
	deadline time.Time
	// free is the room on these nodes, toCome what the pods that leave them still take.
	free, toCome map[string]resources.Vector
	woken        time.Time
	// dirty: a pod has left since the plan's pods were activated, or others may have their turn.
	dirty bool
	// claims is how many pods that have left held devices.
	claims int
	// states are those that the nodes of the plan must keep.
	states map[string]string
	// progress was last seen to change at changed.
	progress executor.Progress
	changed  time.Time
	// shortSince is since when a node has lacked room, by node.
	shortSince map[string]time.Time
}

// BeginPlacing begins to carry out a plan whose pods this scheduler places. The execution is that of the plan checked on the
// snapshot, after are the nodes that pods have when it is done, and left is what remains of the plan of a former process.
func (r *Runner) BeginPlacing(record *packingplan.Record, rules snapshot.Rules, now *snapshot.Snapshot, checked *plan.Plan,
	execution *executor.Execution, after map[types.UID]string, left Remainder,
) *ActivePlan {
	e := r.begin(record, rules)
	p := &placing{Execution: execution, in: e, states: statesOf(now, after), dirty: true,
		touched: slices.AppendSeq(checked.Nodes(), maps.Keys(execution.Outstanding())),
		changed: r.Clock.Now(), deadline: r.Clock.Now().Add(timeoutFor(checked, r.Args))}
	e.order = p
	p.AwaitReady(left.starting...)
	for _, pod := range left.starting {
		// They may have become ready since the snapshot was taken.
		if live := r.View.Live(pod); live != nil {
			p.Note(live)
		} else {
			p.Forget(pod)
		}
	}
	return e
}

// look takes in which pods have left, and says whether the rest of the plan can still be carried out.
func (p *placing) look(ctx context.Context) (end *records.Ending, ready bool) {
	p.noteGone()
	var err error
	if p.free, p.toCome, err = p.in.Room(ctx, p.Departing(), p.touched...); err != nil {
		return records.End(packingplan.Aborted, err.Error()), false
	}
	progress := p.Progress()
	switch {
	case progress.Done():
		return records.End(packingplan.Completed, fmt.Sprintf("%d pods have their nodes", progress.Bound)), false
	case !p.in.Clock.Now().Before(p.deadline):
		return records.End(packingplan.Aborted, fmt.Sprintf("timed out: %d pods had not arrived, %d not left%s",
			progress.Arrivals, progress.Departures, p.awaited())), false
	}
	if reason := p.infeasible(progress); reason != "" {
		return records.End(packingplan.Aborted, reason), false
	}
	return nil, true
}

func (p *placing) next(context.Context) (wave []departure) {
	if about := p.in.Record.Status.Consolidation; about != nil {
		for i := range about.Nodes {
			if node := &about.Nodes[i]; node.State.Open() {
				node.State = packingplan.NodeEmptying
			}
		}
	}
	for _, one := range p.Next(p.free) {
		wave = append(wave, departure{one.Pod.Object, one.Pod.Node, one.To, one.To == "", one.Early})
	}
	return wave
}

func (p *placing) opened(one departure) { p.Opened(one.pod.UID) }

func (p *placing) evicted(one departure) {
	p.Evicted(one.pod.UID)
	p.dirty = true
}

func (p *placing) putOff(one departure, why error) error {
	if errors.Is(why, errUnanswered) {
		p.Unanswered(one.pod.UID)
	} else {
		p.Refused(one.pod.UID)
	}
	if errors.Is(why, errLater) {
		return nil
	}
	return why
}

func (p *placing) describe() bool {
	return p.Describe(p.in.Record.Status.Steps)
}

func (p *placing) conclude(context.Context) {}

// noteGone reports to the execution which pods have left their nodes, also those whose eviction was not answered.
func (p *placing) noteGone() {
	for _, pod := range p.Leaving() {
		if live := p.in.View.Live(pod.Object); live == nil || live.DeletionTimestamp != nil {
			p.dirty = p.Evicted(pod.Object.UID) || p.dirty
		}
		if !p.in.View.Running(pod.Object) {
			p.Gone(pod.Object.UID)
			p.dirty = true
		}
	}
	before := p.claims
	p.claims = p.AwaitsClaims()
	p.dirty = p.dirty || p.claims < before
}

// follow activates the pods that have an open place with room for them.
func (p *placing) follow(context.Context) *records.Ending {
	now := p.in.Clock.Now()
	if !p.dirty && now.Sub(p.woken) < wakeEvery {
		return nil
	}
	p.woken, p.dirty = now, false
	reserved := p.in.Gate.InFlight.All()
	p.in.Gate.Activate(p.Activatable(p.free, func(uid types.UID) bool {
		_, binding := reserved[uid]
		return binding
	}))
	return nil
}

const (
	// minShortage is how long room must be lacking before the plan is aborted for it.
	minShortage = time.Second
	// vanishedAfter is how long a plan waits for a controller to replace waiting pods that are gone.
	vanishedAfter = 5 * time.Second
)

// statesOf are the states of the nodes that the plan sends pods to. One that is gone has none.
func statesOf(now *snapshot.Snapshot, targets map[types.UID]string) map[string]string {
	states := map[string]string{}
	for _, node := range targets {
		if known := now.Nodes[node]; known != nil {
			states[node] = known.State
		}
	}
	return states
}

// infeasible is why the rest of the plan can no longer be carried out, or "". To continue would only disrupt more pods.
func (p *placing) infeasible(progress executor.Progress) string {
	now := p.in.Clock.Now()
	if progress != p.progress {
		p.dirty = p.dirty || len(p.InTurn()) > 0 && progress.Bound > p.progress.Bound // the next one may come
		p.progress, p.changed = progress, now
	}
	if now.Sub(p.changed) >= vanishedAfter && p.GiveUpVanished() > 0 {
		return ""
	}
	if reason := p.stalled(progress, now.Sub(p.changed)); reason != "" {
		return reason
	}
	outstanding := p.Outstanding()
	for node := range outstanding {
		state, err := p.in.View.NodeState(node)
		switch {
		case err != nil:
			return fmt.Sprintf("node %q, which the plan sends pods to, is gone", node)
		case state != p.states[node]:
			return fmt.Sprintf("node %q, which the plan sends pods to, was changed", node)
		}
	}
	return p.missingRoom(outstanding, now)
}

// stalled says whom the plan has waited for in vain, or "". Pods that are leaving get their grace period on top.
func (p *placing) stalled(progress executor.Progress, idle time.Duration) string {
	var grace time.Duration
	for _, pod := range p.Leaving() {
		grace = max(grace, snapshot.GraceOf(pod.Object))
	}
	timeout := config.Seconds(p.in.Args.StepTimeoutSeconds) + grace
	if idle < timeout {
		return ""
	}
	hint := "did their controllers create replacements?"
	if limited := p.Limited(); limited > 0 {
		if progress.Starting > 0 {
			timeout = max(timeout, config.Seconds(p.in.Args.ReadyTimeoutSeconds))
		}
		if idle < timeout {
			return ""
		}
		hint = fmt.Sprintf("%d moves wait, since %d pods of their workload are away or not ready (maxUnavailablePerWorkload); %s",
			limited, p.in.Args.Limits.MaxUnavailablePerWorkload, hint)
	}
	if p.in.refused != "" {
		hint = p.in.refused
	}
	return fmt.Sprintf("no step was done for %s: %d pods had not arrived, %d not left%s; %s",
		timeout, progress.Arrivals, progress.Departures, p.awaited(), hint)
}

// awaited names the replacements that the plan waits for until they are ready, for a message.
func (p *placing) awaited() string {
	pods := p.Starting()
	if len(pods) == 0 {
		return ""
	}
	others := ""
	if len(pods) > 1 {
		others = fmt.Sprintf(" and %d others", len(pods)-1)
	}
	return fmt.Sprintf(", %s on node %q%s not ready", klog.KObj(pods[0]).String(), pods[0].Spec.NodeName, others)
}

// missingRoom says which room the plan lacks, or "". The free room and the plan's places are read one after the other,
// so a pod that is just being bound, or whose binding just failed, may count twice. So room must be lacking for a while.
func (p *placing) missingRoom(outstanding map[string]resources.Vector, now time.Time) string {
	since, own := map[string]time.Time{}, p.OwnDevices()
	for node, needed := range outstanding {
		short := needed.ShortOf(p.free[node].Plus(p.toCome[node]).Plus(own[node]))
		if short == "" {
			continue
		}
		began, before := p.shortSince[node]
		if !before {
			began = now
		}
		if now.Sub(began) >= minShortage {
			return fmt.Sprintf("node %q has too little %s left for the pods that the plan sends there", node, short)
		}
		since[node] = began
	}
	p.shortSince = since
	return ""
}

// timeoutFor is how long the plan may take in total. It grows with the plan: with the rate at which pods are evicted,
// and with the workload whose pods take longest to be replaced one after the other. A plan that makes no progress is aborted
// long before that.
func timeoutFor(checked *plan.Plan, args *config.PriorityOptimizerArgs) time.Duration {
	disrupted := checked.Disrupted()
	timeout := config.Seconds(args.PlanTimeoutSeconds)
	if rate := args.Limits.EvictionsPerSecond; rate > 0 {
		timeout += config.Seconds(float64(len(disrupted)) / rate)
	}
	for _, move := range checked.Moves {
		if move.Turn > 0 { // it may wait for all before it
			timeout += config.Seconds(args.StepTimeoutSeconds + snapshot.GraceOf(move.Pod.Object).Seconds())
		}
	}
	atOnce := int(args.Limits.MaxUnavailablePerWorkload)
	if atOnce == 0 {
		return timeout
	}
	count, longest := map[types.UID]int{}, time.Duration(0)
	for _, pod := range disrupted {
		count[pod.Owner]++
		turns := float64((count[pod.Owner] - 1) / atOnce)
		turn := args.StepTimeoutSeconds + args.ReadyTimeoutSeconds + snapshot.GraceOf(pod.Object).Seconds()
		longest = max(longest, config.Seconds(turns*turn))
	}
	return timeout + longest
}
