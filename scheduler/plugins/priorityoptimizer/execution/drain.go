package execution

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/draining"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Draining carries out a plan whose pods another scheduler places. It works from the plan's record and the cluster
// alone, so that a restarted process goes on where it was.
type Draining struct {
	*draining.Run
	emptying
	evictor evictor
	pace    *rate.Limiter
	// pods are those that are to leave.
	pods map[types.UID]leavingPod
	// wanted is how many pods the workloads have whose controllers do not say how many they want.
	wanted map[types.UID]int
	// notBefore and retry implement the back-off after refused evictions.
	notBefore time.Time
	retry     time.Duration
	progress  progressWriter
	// changed: the status has not been written since its last change.
	changed bool
	idle    closedNodes
}

// marksKnown is how long after the nodes were marked the first pod leaves. The other scheduler learns of the marks by a
// watch of its own, and would put the replacement on a node that is being emptied.
const marksKnown = time.Second

// leavingPod is a pod of the plan, by the name that it has in the record.
type leavingPod struct {
	namespace, name string
	uid             types.UID
	workload        types.UID
}

// Empty begins or continues a recorded plan.
func (r *Runner) Empty(record *packingplan.Record, rules snapshot.Rules) *Draining {
	d := &Draining{emptying: emptying{Runner: r, Record: record}, pace: r.Args.Limits.Pace(), retry: firstRetry,
		evictor: r.evictorFor(rules), pods: map[types.UID]leavingPod{}, wanted: map[types.UID]int{}}
	d.idle = closedNodes{emptying: &d.emptying, scope: rules.Scope}
	byNode := map[string][]draining.Pod{}
	for _, move := range record.Status.Moves() {
		namespace, name, _ := strings.Cut(move.Pod, "/")
		pod := leavingPod{namespace, name, types.UID(move.PodUID), types.UID(move.OwnerUID)}
		d.pods[pod.uid] = pod
		grace := time.Duration(v1.DefaultTerminationGracePeriodSeconds) * time.Second
		if live := d.live(pod); live != nil {
			grace = graceOf(live)
		}
		byNode[move.From] = append(byNode[move.From], draining.Pod{UID: pod.uid, Workload: pod.workload, Grace: grace})
	}
	var nodes []draining.Node
	for i := range record.Status.Consolidation.Nodes {
		node := &record.Status.Consolidation.Nodes[i]
		if node.State.Open() {
			nodes = append(nodes, draining.Node{Name: node.Name, Pods: byNode[node.Name], State: draining.State(node.State)})
		}
	}
	d.Run = draining.New(nodes, draining.Limits{AtOnce: int(r.Args.Limits.MaxUnavailablePerWorkload),
		Step: config.Seconds(r.Args.StepTimeoutSeconds), Ready: config.Seconds(r.Args.ReadyTimeoutSeconds)}, r.Clock.Now())
	return d
}

// live is the pod if it still takes room on its node.
func (d *Draining) live(pod leavingPod) *v1.Pod {
	live, err := d.View.Pods.Pods(pod.namespace).Get(pod.name)
	if err != nil || live.UID != pod.uid || !d.View.Running(live) {
		return nil
	}
	return live
}

// Advance empties the nodes as far as is possible now. It returns how the plan ends, or nil.
func (d *Draining) Advance(ctx context.Context) *records.Ending {
	if shown := d.Records.Shown(d.Record); shown == nil || shown.Spec.Abort {
		return records.End(packingplan.Aborted, records.MessageAborted)
	}
	if err := d.Records.Lead.CheckCached(ctx); err != nil {
		return nil
	}
	if end, ready := d.begin(ctx); !ready {
		return end
	}
	d.idle.advance(ctx, d.Clock.Now())
	now := d.Clock.Now()
	if d.notBefore.IsZero() {
		d.notBefore = now.Add(marksKnown)
	}
	seen := d.seen()
	going := d.Next(seen, now)
	if !now.Before(d.notBefore) {
		d.evict(ctx, going)
	}
	d.adopt(ctx)
	d.noteMoves(seen)
	if d.changed && d.progress.due(now) {
		d.changed = false
		d.progress.write(ctx, d.Clock, d.Records, d.Record)
	}
	if !d.Done() {
		return nil
	}
	return d.ended()
}

// seen is what the drain has to know of the cluster.
func (d *Draining) seen() draining.Seen {
	seen := draining.Seen{Workloads: map[types.UID]draining.Workload{}, Here: sets.New[types.UID](), Strangers: map[string]string{}}
	for uid, pod := range d.pods {
		if d.live(pod) != nil {
			seen.Here.Insert(uid)
		}
		if _, known := seen.Workloads[pod.workload]; !known {
			seen.Workloads[pod.workload] = d.workload(pod.workload)
		}
	}
	for _, name := range d.Record.Status.Consolidation.OpenNodes() {
		for _, pod := range d.View.Lasting(name) {
			if _, planned := d.pods[pod.UID]; !planned && pod.DeletionTimestamp == nil {
				seen.Strangers[name] = klog.KObj(pod).String()
			}
		}
	}
	return seen
}

// workload is what is seen of a controller and its pods.
func (d *Draining) workload(controller types.UID) (seen draining.Workload) {
	for _, pod := range d.View.OfController(controller) {
		if pod.DeletionTimestamp != nil || !d.View.Running(pod) {
			continue
		}
		if wanted := snapshot.Wanted(pod, d.View.Workloads); wanted != nil {
			seen.Wanted = int(*wanted)
		}
		seen.Pods = append(seen.Pods, draining.Sibling{UID: pod.UID, Name: klog.KObj(pod).String(), Node: pod.Spec.NodeName,
			Ready: snapshot.IsReady(pod)})
	}
	if _, known := d.wanted[controller]; !known {
		d.wanted[controller] = len(seen.Pods)
	}
	if seen.Wanted == 0 && len(seen.Pods) > 0 {
		seen.Wanted = d.wanted[controller]
	}
	return seen
}

// evict evicts the pods in turn, as fast as the rate limit allows.
func (d *Draining) evict(ctx context.Context, going []types.UID) {
	for _, uid := range going {
		now := d.Clock.Now()
		pod := d.live(d.pods[uid])
		if pod == nil || !d.pace.AllowN(now, 1) {
			return // it is seen to be gone, or goes later
		}
		call, cancel := context.WithTimeout(ctx, records.APITimeout)
		err := d.evictor.evict(call, pod)
		cancel()
		switch {
		case err == nil, errors.Is(err, errGone):
			d.Evicted(uid, now)
			d.retry = firstRetry
			if err == nil {
				metrics.MovesTotal.Inc()
				d.announce(pod)
			}
			continue
		case errors.Is(err, errLater):
			d.PutOff(err.Error())
			d.notBefore = now.Add(d.retry)
			d.retry = min(2*d.retry, longRetry)
		default:
			d.Forbidden(uid, err.Error(), now)
		}
		metrics.RefusedEvictionsTotal.WithLabelValues(refusalLabel(err)).Inc()
		d.Records.Logger(d.Record).Info("Eviction refused", "reason", err.Error())
		return
	}
}

func (d *Draining) announce(pod *v1.Pod) {
	d.Records.Logger(d.Record).Info("Evicted a pod", "pod", klog.KObj(pod), "uid", pod.UID, "node", pod.Spec.NodeName)
	if d.Records.Recorder != nil {
		d.Records.Recorder.Eventf(pod, d.Record.Reference(), v1.EventTypeNormal, "MovedByPlan", "Evict",
			"evicted from %s by plan %s; scheduler %s places its replacement", pod.Spec.NodeName, d.Record.Name(), pod.Spec.SchedulerName)
	}
}

// adopt writes the states that the drain has come to onto the nodes and into the status.
func (d *Draining) adopt(ctx context.Context) {
	for _, node := range d.Nodes() {
		told := d.Record.Status.Consolidation.Of(node.Name)
		if !told.State.Open() {
			continue
		}
		switch node.State {
		case draining.Emptied:
			d.set(ctx, node.Name, packingplan.NodeEmptied, node.Message)
		case draining.GivenUp:
			d.set(ctx, node.Name, packingplan.NodeGivenUp, node.Message)
		default:
			if told.State == packingplan.NodeState(node.State) {
				continue
			}
			told.State = packingplan.NodeState(node.State)
		}
		d.changed = true
	}
}

// noteMoves puts into the status how far the moves have come. A pod is replaced once its workload is whole.
func (d *Draining) noteMoves(seen draining.Seen) {
	for _, move := range d.Record.Status.Moves() {
		uid, next := types.UID(move.PodUID), move.State
		switch here := seen.Here.Has(uid); {
		case !here && d.Missing(seen.Workloads[types.UID(move.OwnerUID)]) == 0:
			next = packingplan.Bound
		case !here:
			next = packingplan.Gone
		case d.Leaving(uid):
			next = packingplan.Evicted
		case d.Record.Status.Consolidation.Of(move.From).State == packingplan.NodeGivenUp:
			next = packingplan.NotNeeded
		}
		d.changed = d.changed || next != move.State
		move.State = next
	}
}

// ended is how a plan ends whose nodes are all done.
func (d *Draining) ended() *records.Ending {
	emptied, left := d.count(packingplan.NodeEmptied), d.count(packingplan.NodeGivenUp)
	if emptied == 0 {
		reason := "no node could be emptied"
		for _, node := range d.Record.Status.Consolidation.Nodes {
			if node.State == packingplan.NodeGivenUp {
				reason += ": node " + node.Name + ": " + node.Message
				break
			}
		}
		return records.End(packingplan.Aborted, reason)
	}
	return records.End(packingplan.Completed, fmt.Sprintf("emptied %d of %d nodes", emptied, emptied+left))
}

// Conclude gives back the nodes that are not empty, and puts the end into the status.
func (d *Draining) Conclude(ctx context.Context, end *records.Ending) {
	d.idle.open(ctx)
	d.settle(ctx, end.Message)
	d.noteMoves(d.seen())
	d.Record.Status.Set(packingplan.Executed, end.Phase == packingplan.Completed, string(end.Phase), end.Message, d.Clock.Now())
}
