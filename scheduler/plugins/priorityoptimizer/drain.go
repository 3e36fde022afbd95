package priorityoptimizer

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
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/draining"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// drainExecution carries out a plan whose pods another scheduler places. It works from the plan's record and the cluster
// alone, so that a restarted process goes on where it was.
type drainExecution struct {
	*draining.Run
	emptying
	plugin  *Plugin
	clock   clock.PassiveClock
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

// newDrain begins or continues a recorded plan.
func (l *loop) newDrain(record *packingplan.Record) *drainExecution {
	d := &drainExecution{
		emptying: emptying{marks: l.marks, view: l.plugin.view, records: l.records, record: record},
		plugin:   l.plugin, clock: l.clock, pace: l.args.Limits.pace(), retry: firstRetry,
		evictor: l.evictorFor(l.plugin.view.rulesFor(record)),
		pods:    map[types.UID]leavingPod{}, wanted: map[types.UID]int{},
	}
	d.idle = closedNodes{emptying: &d.emptying, scope: l.plugin.view.rulesFor(record).Scope}
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
	d.Run = draining.New(nodes, draining.Limits{AtOnce: int(l.args.Limits.MaxUnavailablePerWorkload),
		Step: seconds(l.args.StepTimeoutSeconds), Ready: seconds(l.args.ReadyTimeoutSeconds)}, l.clock.Now())
	return d
}

// live is the pod if it still takes room on its node.
func (d *drainExecution) live(pod leavingPod) *v1.Pod {
	live, err := d.view.pods.Pods(pod.namespace).Get(pod.name)
	if err != nil || live.UID != pod.uid || !d.view.running(live) {
		return nil
	}
	return live
}

// advance empties the nodes as far as is possible now. It returns how the plan ends, or nil.
func (d *drainExecution) advance(ctx context.Context) *ending {
	if shown := d.records.shown(d.record); shown == nil || shown.Spec.Abort {
		return &ending{packingplan.Aborted, messageAborted}
	}
	if err := d.plugin.lead.checkCached(ctx); err != nil {
		return nil
	}
	if end, ready := d.begin(ctx); !ready {
		return end
	}
	d.idle.advance(ctx, d.clock.Now())
	now := d.clock.Now()
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
		d.progress.write(ctx, d.clock, d.records, d.record)
	}
	if !d.Done() {
		return nil
	}
	return d.ended()
}

// seen is what the drain has to know of the cluster.
func (d *drainExecution) seen() draining.Seen {
	seen := draining.Seen{Workloads: map[types.UID]draining.Workload{}, Here: sets.New[types.UID](), Strangers: map[string]string{}}
	for uid, pod := range d.pods {
		if d.live(pod) != nil {
			seen.Here.Insert(uid)
		}
		if _, known := seen.Workloads[pod.workload]; !known {
			seen.Workloads[pod.workload] = d.workload(pod.workload)
		}
	}
	for _, name := range d.record.Status.Consolidation.OpenNodes() {
		for _, pod := range d.view.lasting(name) {
			if _, planned := d.pods[pod.UID]; !planned && pod.DeletionTimestamp == nil {
				seen.Strangers[name] = podName(pod)
			}
		}
	}
	return seen
}

// workload is what is seen of a controller and its pods.
func (d *drainExecution) workload(controller types.UID) (seen draining.Workload) {
	for _, pod := range d.view.ofController(controller) {
		if pod.DeletionTimestamp != nil || !d.view.running(pod) {
			continue
		}
		if wanted := snapshot.Wanted(pod, d.view.workloads); wanted != nil {
			seen.Wanted = int(*wanted)
		}
		seen.Pods = append(seen.Pods, draining.Sibling{UID: pod.UID, Name: podName(pod), Node: pod.Spec.NodeName,
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
func (d *drainExecution) evict(ctx context.Context, going []types.UID) {
	for _, uid := range going {
		now := d.clock.Now()
		pod := d.live(d.pods[uid])
		if pod == nil || !d.pace.AllowN(now, 1) {
			return // it is seen to be gone, or goes later
		}
		call, cancel := context.WithTimeout(ctx, apiTimeout)
		err := d.evictor.evict(call, pod)
		cancel()
		switch {
		case err == nil, errors.Is(err, errGone):
			d.Evicted(uid, now)
			d.retry = firstRetry
			if err == nil {
				movesTotal.Inc()
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
		refusedEvictionsTotal.WithLabelValues(refusalLabel(err)).Inc()
		d.records.logger(d.record).Info("Eviction refused", "reason", err.Error())
		return
	}
}

func (d *drainExecution) announce(pod *v1.Pod) {
	d.records.logger(d.record).Info("Evicted a pod", "pod", podName(pod), "uid", pod.UID, "node", pod.Spec.NodeName)
	if d.records.recorder != nil {
		d.records.recorder.Eventf(pod, d.record.Reference(), v1.EventTypeNormal, "MovedByPlan", "Evict",
			"evicted from %s by plan %s; scheduler %s places its replacement", pod.Spec.NodeName, d.record.Name(), pod.Spec.SchedulerName)
	}
}

// adopt writes the states that the drain has come to onto the nodes and into the status.
func (d *drainExecution) adopt(ctx context.Context) {
	for _, node := range d.Nodes() {
		told := d.record.Status.Consolidation.Of(node.Name)
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
func (d *drainExecution) noteMoves(seen draining.Seen) {
	for _, move := range d.record.Status.Moves() {
		uid, next := types.UID(move.PodUID), move.State
		switch here := seen.Here.Has(uid); {
		case !here && d.Missing(seen.Workloads[types.UID(move.OwnerUID)]) == 0:
			next = packingplan.Bound
		case !here:
			next = packingplan.Gone
		case d.Leaving(uid):
			next = packingplan.Evicted
		case d.record.Status.Consolidation.Of(move.From).State == packingplan.NodeGivenUp:
			next = packingplan.NotNeeded
		}
		d.changed = d.changed || next != move.State
		move.State = next
	}
}

// ended is how a plan ends whose nodes are all done.
func (d *drainExecution) ended() *ending {
	emptied, left := d.count(packingplan.NodeEmptied), d.count(packingplan.NodeGivenUp)
	if emptied == 0 {
		reason := "no node could be emptied"
		for _, node := range d.record.Status.Consolidation.Nodes {
			if node.State == packingplan.NodeGivenUp {
				reason += ": node " + node.Name + ": " + node.Message
				break
			}
		}
		return &ending{packingplan.Aborted, reason}
	}
	return &ending{packingplan.Completed, fmt.Sprintf("emptied %d of %d nodes", emptied, emptied+left)}
}

// endDrain gives back the nodes that are not empty, and puts the end into the status.
func (l *loop) endDrain(ctx context.Context, end *ending) {
	d := l.drain
	l.drain = nil
	d.idle.open(ctx)
	d.settle(ctx, end.message)
	d.noteMoves(d.seen())
	d.record.Status.Set(packingplan.Executed, end.phase == packingplan.Completed, string(end.phase), end.message, d.clock.Now())
	l.plugin.Trigger.Retry() // there may be room elsewhere by now
	l.records.finish(ctx, d.record, end.phase, end.message)
}

// startDrain carries a plan out that was rehearsed just now.
func (l *loop) startDrain(ctx context.Context, record *packingplan.Record) {
	record.Status.Phase = packingplan.Executing
	if err := l.records.write(ctx, record); err != nil {
		l.records.finish(ctx, record, packingplan.Aborted, err.Error())
		return
	}
	l.records.logger(record).Info("Emptying nodes", "nodes", len(record.Status.Consolidation.OpenNodes()), "moves", len(record.Status.Steps))
	l.drain = l.newDrain(record)
	l.plugin.Hold.End()
}

// resumeDrain goes on with the plan of a former process. It reports true if that cannot be decided yet.
func (l *loop) resumeDrain(ctx context.Context, record *packingplan.Record) (again bool) {
	// If another process has continued the plan in the meantime, its status says so and this write fails.
	if err := l.records.write(ctx, record); err != nil {
		l.records.logger(record).Error(err, "The plan is not resumed")
		return isTransient(err)
	}
	l.records.logger(record).Info("Emptying the nodes of a former process's plan")
	l.drain = l.newDrain(record)
	l.plugin.Hold.End()
	return false
}
