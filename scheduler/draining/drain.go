// Package draining decides how nodes are emptied whose pods another scheduler places again. It calls no API: the plugin
// tells it what it sees of the cluster, does what it says, and reports the result.
//
// Invariants:
//
//  1. Nodes are emptied one after the other, in the plan's order.
//  2. A workload loses a pod only while fewer of its pods than allowed are missing or not ready, whatever the reason.
//  3. A node is emptied once its pods have left it and their workloads have as many ready pods as they want.
//  4. A node is given up when a pod comes to it, a pod may not leave it, or nothing happens for too long. From then on
//     pods may go back to it.
//  5. No further node is begun while a workload of the plan has a pod that waits for a node.
//
// What it knows of the past is which nodes are done: all else follows from what is seen, so a restarted process goes on.
package draining

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Node is a node of the plan with the moves of the pods that are to leave it, in that order. Its state and its message are
// kept here.
type Node struct {
	*packingplan.NodeToEmpty
	Moves []*packingplan.Step
}

// Limits bound what happens at a time, and for how long nothing may.
type Limits struct {
	// AtOnce is how many pods of one workload may be missing or not ready; 0: any number.
	AtOnce int
	// Step is how long nothing may happen, and how long a pod may wait for a node; Ready is the same while a pod that has
	// one is not ready.
	Step, Ready time.Duration
}

// Workload is what is seen of a controller, and of its pods that are not terminating.
type Workload struct {
	Wanted int
	Pods   []*v1.Pod
}

// Seen is what is seen of the cluster.
type Seen struct {
	Workloads map[types.UID]Workload
	// Here are the pods of the plan that are still on their nodes, also those that are terminating.
	Here map[types.UID]*v1.Pod
	// Strangers is a pod on each node that is not of the plan and would not go with the node.
	Strangers map[string]string
}

// Run is the emptying of some nodes. It is used by one goroutine.
type Run struct {
	nodes  []Node
	limits Limits
	// evicted are the pods that the API has evicted and that may still be there.
	evicted sets.Set[types.UID]
	// waitingSince is since when a pod of a workload has waited for a node.
	waitingSince map[types.UID]time.Time
	// refused is why the last eviction was put off; empty if it was not.
	refused string
	// mark is a summary of what was seen last, and changed is when it last changed.
	mark    string
	changed time.Time
}

// New begins the emptying of the nodes, or goes on with it.
func New(nodes []Node, limits Limits, now time.Time) *Run {
	return &Run{nodes: nodes, limits: limits, evicted: sets.New[types.UID](), waitingSince: map[types.UID]time.Time{}, changed: now}
}

// Done says that nothing is left to be emptied.
func (d *Run) Done() bool {
	return d.current() == nil
}

// Next takes in what is seen, changes the states of nodes, and says which pods are to be evicted now.
func (d *Run) Next(seen Seen, now time.Time) []types.UID {
	maps.DeleteFunc(d.evicted, func(uid types.UID, _ sets.Empty) bool { return seen.Here[uid] == nil })
	d.noteProgress(seen, now)
	for _, node := range d.nodes {
		if stranger := seen.Strangers[node.Name]; stranger != "" && node.State.Open() {
			d.giveUp(node, fmt.Sprintf("pod %s has come to it", stranger), now)
		}
	}
	waiting := d.waiting(seen, now)
	node := d.current()
	if node == nil {
		return nil
	}
	if waiting != "" && node.State == packingplan.NodePlanned {
		d.GiveUpAll(waiting, now) // it waits although nodes were given back
		return nil
	}
	if waiting != "" {
		d.giveUp(*node, waiting, now)
		return nil
	}
	if node.State == packingplan.NodePlanned {
		if len(d.waitingSince) > 0 {
			return nil // what waits may need the room that was just given back
		}
		node.State = packingplan.NodeEmptying
		d.changed = now
	}
	if d.isEmptied(node, seen) {
		node.State = packingplan.NodeEmptied
		d.changed = now
		return nil
	}
	if reason := d.stalled(node, seen, now); reason != "" {
		if !slices.ContainsFunc(node.Moves, func(move *packingplan.Step) bool { return seen.Here[uidOf(move)] != nil }) {
			// It is empty, but its pods do not serve elsewhere: more of that must not happen.
			node.State, node.Message = packingplan.NodeEmptied, packingplan.Shortened(reason)
			d.GiveUpAll(reason, now)
			return nil
		}
		d.giveUp(*node, reason, now)
		return nil
	}
	return d.wave(node, seen)
}

// current is the node to be emptied now, or nil.
func (d *Run) current() *Node {
	if at := slices.IndexFunc(d.nodes, func(node Node) bool { return node.State.Open() }); at >= 0 {
		return &d.nodes[at]
	}
	return nil
}

func (d *Run) giveUp(node Node, why string, now time.Time) {
	node.State, node.Message, d.refused, d.changed = packingplan.NodeGivenUp, packingplan.Shortened(why), "", now
}

// GiveUpAll ends the plan before all nodes are empty.
func (d *Run) GiveUpAll(why string, now time.Time) {
	for _, node := range d.nodes {
		if node.State.Open() {
			d.giveUp(node, why, now)
		}
	}
}

// waiting notes the pods that wait for a node, and says of one that has waited for too long. The pod gets as long again:
// it may go back to the node that is given up for it.
func (d *Run) waiting(seen Seen, now time.Time) (late string) {
	still := map[types.UID]time.Time{}
	for _, workload := range seen.Workloads {
		for _, pod := range workload.Pods {
			if pod.Spec.NodeName != "" {
				continue
			}
			since, known := d.waitingSince[pod.UID]
			if !known {
				since = now
			}
			if now.Sub(since) >= d.limits.Step {
				late = fmt.Sprintf("pod %s waited for a node for %s", klog.KObj(pod), d.limits.Step)
				since = now
			}
			still[pod.UID] = since
		}
	}
	d.waitingSince = still
	return late
}

// Missing is how many ready pods the workload lacks. A pod that was evicted counts as gone at once.
func (d *Run) Missing(workload Workload) int {
	ready := 0
	for _, pod := range workload.Pods {
		if snapshot.IsReady(pod) && !d.evicted.Has(pod.UID) {
			ready++
		}
	}
	return max(0, workload.Wanted-ready)
}

// isEmptied says that the node's pods have left and were replaced.
func (d *Run) isEmptied(node *Node, seen Seen) bool {
	return !slices.ContainsFunc(node.Moves, func(move *packingplan.Step) bool {
		workload, known := seen.Workloads[types.UID(move.OwnerUID)]
		return seen.Here[uidOf(move)] != nil || known && d.Missing(workload) > 0
	})
}

// wave are the pods of the node that may be evicted now.
func (d *Run) wave(node *Node, seen Seen) (uids []types.UID) {
	going := map[types.UID]int{}
	for _, move := range node.Moves {
		uid, workload := uidOf(move), types.UID(move.OwnerUID)
		mayLeave := d.limits.AtOnce == 0 || d.Missing(seen.Workloads[workload])+going[workload] < d.limits.AtOnce
		if mayLeave && seen.Here[uid] != nil && !d.evicted.Has(uid) {
			going[workload]++
			uids = append(uids, uid)
		}
	}
	return uids
}

// noteProgress notes when anything last changed that the drain waits for.
func (d *Run) noteProgress(seen Seen, now time.Time) {
	here, missing, unplaced := len(seen.Here), 0, 0
	for _, workload := range seen.Workloads {
		missing += d.Missing(workload)
		for _, pod := range workload.Pods {
			if pod.Spec.NodeName == "" {
				unplaced++
			}
		}
	}
	if mark := fmt.Sprint(here, missing, unplaced); mark != d.mark {
		d.mark, d.changed = mark, now
	}
}

// stalled says whom the node has waited for in vain, or "".
func (d *Run) stalled(node *Node, seen Seen, now time.Time) string {
	idle, timeout := now.Sub(d.changed), d.limits.Step
	short := ""
	for _, move := range node.Moves {
		if uid := uidOf(move); d.evicted.Has(uid) {
			timeout = max(timeout, d.limits.Step+snapshot.GraceOf(seen.Here[uid]))
		}
		if workload := seen.Workloads[types.UID(move.OwnerUID)]; d.Missing(workload) > 0 {
			timeout = max(timeout, d.limits.Ready)
			short = unready(workload)
		}
	}
	switch {
	case idle < timeout:
		return ""
	case d.refused != "":
		return d.refused
	case short != "":
		return fmt.Sprintf("no step was done for %s: %s", timeout, short)
	}
	return fmt.Sprintf("no step was done for %s", timeout)
}

// unready says what a workload waits for.
func unready(workload Workload) string {
	for _, pod := range workload.Pods {
		if !snapshot.IsReady(pod) {
			return fmt.Sprintf("pod %s is not ready", klog.KObj(pod))
		}
	}
	return "a controller creates no replacement"
}

// Evicted notes that the API has evicted the pod, or that it was gone.
func (d *Run) Evicted(uid types.UID, now time.Time) {
	d.evicted.Insert(uid)
	d.refused, d.changed = "", now
}

// PutOff notes why an eviction is to be tried again.
func (d *Run) PutOff(why string) { d.refused = why }

func uidOf(move *packingplan.Step) types.UID { return types.UID(move.PodUID) }

// Forbidden gives up the node of a pod that may not leave it.
func (d *Run) Forbidden(uid types.UID, why string, now time.Time) {
	for _, node := range d.nodes {
		if node.State.Open() && slices.ContainsFunc(node.Moves, func(move *packingplan.Step) bool { return uidOf(move) == uid }) {
			d.giveUp(node, why, now)
		}
	}
}

// Leaving says whether the pod was evicted and may still be there.
func (d *Run) Leaving(uid types.UID) bool { return d.evicted.Has(uid) }
