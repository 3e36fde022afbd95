package execution

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/draining"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// drain is the order of a plan whose pods another scheduler places. It works from the plan's record and the cluster
// alone, so that a restarted process goes on where it was.
type drain struct {
	*draining.Run
	in *ActivePlan
	// moves are those of the record, by their pods.
	moves map[types.UID]*packingplan.Step
	// wanted is how many pods the workloads have whose controllers do not say how many they want.
	wanted map[types.UID]int
	// seen is what was last seen of the cluster.
	seen draining.Seen
	idle closedNodes
}

// marksKnown is how long after the nodes were marked the first pod leaves. The other scheduler learns of the marks by a
// watch of its own, and would put the replacement on a node that is being emptied.
const marksKnown = time.Second

// BeginDrain begins or continues a recorded plan whose pods another scheduler places.
func (r *Runner) BeginDrain(record *packingplan.Record, rules snapshot.Rules) *ActivePlan {
	e := r.begin(record, rules)
	d := &drain{in: e, moves: map[types.UID]*packingplan.Step{}, wanted: map[types.UID]int{},
		idle: closedNodes{emptying: e.nodes, scope: rules.Scope}}
	e.order, e.inTurn = d, true
	byNode := map[string][]*packingplan.Step{}
	for _, move := range record.Status.Moves() {
		d.moves[types.UID(move.PodUID)] = move
		byNode[move.From] = append(byNode[move.From], move)
	}
	var nodes []draining.Node
	for _, name := range record.Status.Consolidation.OpenNodes() {
		nodes = append(nodes, draining.Node{NodeToEmpty: record.Status.Consolidation.Of(name), Moves: byNode[name]})
	}
	d.Run = draining.New(nodes, draining.Limits{AtOnce: int(r.Args.Limits.MaxUnavailablePerWorkload),
		Step: config.Seconds(r.Args.StepTimeoutSeconds), Ready: config.Seconds(r.Args.ReadyTimeoutSeconds)}, r.Clock.Now())
	return e
}

// live is the pod of the move if it still takes room on its node.
func (d *drain) live(move *packingplan.Step) *v1.Pod {
	namespace, name, _ := strings.Cut(move.Pod, "/")
	live := d.in.View.Live(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(move.PodUID)}})
	if live == nil || podutil.IsPodTerminal(live) {
		return nil
	}
	return live
}

// look says whether the plan still exists and this process still leads.
func (d *drain) look(ctx context.Context) (end *records.Ending, ready bool) {
	if d.in.Records.Shown(d.in.Record) == nil {
		return records.End(packingplan.Aborted, records.MessageAborted), false
	}
	return nil, d.in.Records.Leadership.CheckCached(ctx) == nil
}

func (d *drain) next(ctx context.Context) (wave []departure) {
	now := d.in.Clock.Now()
	d.idle.advance(ctx, now)
	if d.in.notBefore.IsZero() {
		d.in.notBefore = now.Add(marksKnown)
	}
	d.seen = d.observe()
	for _, uid := range d.Next(d.seen, now) {
		wave = append(wave, departure{pod: d.seen.Here[uid], from: d.seen.Here[uid].Spec.NodeName})
	}
	return wave
}

// observe returns what the drain has to know of the cluster.
func (d *drain) observe() draining.Seen {
	seen := draining.Seen{Workloads: map[types.UID]draining.Workload{}, Here: map[types.UID]*v1.Pod{}, Strangers: map[string]string{}}
	for uid, move := range d.moves {
		if pod := d.live(move); pod != nil {
			seen.Here[uid] = pod
		}
		owner := types.UID(move.OwnerUID)
		if _, known := seen.Workloads[owner]; !known {
			seen.Workloads[owner] = d.workload(owner)
		}
	}
	for _, name := range d.in.Record.Status.Consolidation.OpenNodes() {
		for _, pod := range d.in.View.Lasting(name) {
			if _, planned := d.moves[pod.UID]; !planned && pod.DeletionTimestamp == nil {
				seen.Strangers[name] = klog.KObj(pod).String()
			}
		}
	}
	return seen
}

// workload is what is seen of a controller and its pods.
func (d *drain) workload(controller types.UID) (seen draining.Workload) {
	for _, pod := range d.in.View.OfController(controller) {
		if pod.DeletionTimestamp != nil || !d.in.View.Running(pod) {
			continue
		}
		if wanted := snapshot.Wanted(pod, d.in.View.Workloads); wanted != nil {
			seen.Wanted = int(*wanted)
		}
		seen.Pods = append(seen.Pods, pod)
	}
	if _, known := d.wanted[controller]; !known {
		d.wanted[controller] = len(seen.Pods)
	}
	if seen.Wanted == 0 && len(seen.Pods) > 0 {
		seen.Wanted = d.wanted[controller]
	}
	return seen
}

func (d *drain) opened(departure) {}

func (d *drain) evicted(one departure) { d.Evicted(one.pod.UID, d.in.Clock.Now()) }

func (d *drain) putOff(one departure, why error) error {
	if errors.Is(why, errLater) {
		d.PutOff(why.Error())
	} else {
		d.Forbidden(one.pod.UID, why.Error(), d.in.Clock.Now())
	}
	return nil
}

// follow writes on the nodes how they ended. It says how a plan ends whose nodes are all done.
func (d *drain) follow(ctx context.Context) *records.Ending {
	d.in.nodes.writeEnded(ctx)
	if !d.Done() {
		return nil
	}
	emptied, left, reason := 0, 0, "no node could be emptied"
	for _, node := range d.in.Record.Status.Consolidation.Nodes {
		switch node.State {
		case packingplan.NodeEmptied:
			emptied++
		case packingplan.NodeGivenUp:
			if left++; left == 1 {
				reason += ": node " + node.Name + ": " + node.Message
			}
		}
	}
	if emptied == 0 {
		return records.End(packingplan.Aborted, reason)
	}
	return records.End(packingplan.Completed, fmt.Sprintf("emptied %d of %d nodes", emptied, emptied+left))
}

// describe puts into the status how far the moves have come. A pod is replaced once its workload is whole.
func (d *drain) describe() (changed bool) {
	for _, move := range d.in.Record.Status.Moves() {
		uid, next := types.UID(move.PodUID), move.State
		switch here := d.seen.Here[uid] != nil; {
		case !here && d.Missing(d.seen.Workloads[types.UID(move.OwnerUID)]) == 0:
			next = packingplan.Bound
		case !here:
			next = packingplan.Gone
		case d.Leaving(uid):
			next = packingplan.Evicted
		case d.in.Record.Status.Consolidation.Of(move.From).State == packingplan.NodeGivenUp:
			next = packingplan.NotNeeded
		}
		changed = changed || next != move.State
		move.State = next
	}
	return changed
}

func (d *drain) conclude(ctx context.Context) {
	d.idle.open(ctx)
	d.seen = d.observe()
}
