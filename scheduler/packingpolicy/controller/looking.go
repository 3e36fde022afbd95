package controller

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// look brings the window up to date with its plans, and returns those that the informer shows, by name. What is known of
// a plan stays when its object is gone.
func (t *turn) look(window *packingpolicy.Window) map[string]*packingplan.Record {
	shown := t.plansOf(t.policy, window.Start)
	unknown := maps.Clone(shown)
	for i := range window.Plans {
		plan := &window.Plans[i]
		record, here := shown[plan.Name]
		delete(unknown, plan.Name)
		switch {
		case here:
			describePlan(plan, record)
		case !plan.Phase.Final() && t.now.Sub(t.created[plan.Name]) >= informerTimeout:
			plan.Phase, plan.EndedAt, plan.Aborted = packingplan.Aborted, &metav1.Time{Time: t.now}, true
		}
	}
	// A process that was killed may have made one without writing it down.
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		found := packingpolicy.Plan{Name: name}
		describePlan(&found, shown[name])
		window.Plans = append(window.Plans, found)
	}
	sum(window, shown)
	return shown
}

// describePlan is what a window's list says of a plan.
func describePlan(plan *packingpolicy.Plan, record *packingplan.Record) {
	plan.Phase = cmp.Or(record.Status.Phase, packingplan.Pending)
	plan.Moves = 0
	for _, move := range record.Status.Moves() {
		if move.State.Disrupted() {
			plan.Moves++
		}
	}
	plan.NodesEmptied, plan.HourlySaving = 0, ""
	if found := record.Status.Consolidation; found != nil {
		var prices []string
		for _, node := range found.Nodes {
			if node.State == packingplan.NodeEmptied {
				plan.NodesEmptied++
				prices = append(prices, node.HourlyPrice)
			}
		}
		plan.HourlySaving = sumOf(prices)
	}
	if plan.Phase.Final() {
		plan.EndedAt = &metav1.Time{Time: record.Completed()}
		plan.Aborted = record.Spec.Abort
	}
}

// sumOf adds prices exactly; those that are not known count nothing. It is empty if none is known.
func sumOf(prices []string) string {
	var micros int64
	for _, price := range prices {
		micros += packingplan.Micros(price)
	}
	if micros == 0 {
		return ""
	}
	return packingplan.Price(micros)
}

// sum adds up what the window's plans have done, and tells what the last one left alone.
func sum(window *packingpolicy.Window, shown map[string]*packingplan.Record) {
	window.Moves, window.NodesEmptied = 0, 0
	var savings []string
	for _, plan := range window.Plans {
		window.Moves += plan.Moves
		window.NodesEmptied += plan.NodesEmptied
		savings = append(savings, plan.HourlySaving)
	}
	window.HourlySaving = sumOf(savings)
	for _, plan := range slices.Backward(window.Plans) {
		if record := shown[plan.Name]; record != nil && record.Status.Phase != "" {
			window.Refused = refusedBy(record)
			return
		}
	}
}

// refusedBy counts what a plan left alone, by the reason.
func refusedBy(record *packingplan.Record) []packingpolicy.Refused {
	var refused []packingpolicy.Refused
	for _, one := range record.Status.Protected {
		refused = append(refused, packingpolicy.Refused{Reason: one.Reason, Count: one.Pods, Example: one.Example})
	}
	if record.Status.Consolidation == nil {
		return refused
	}
	for _, node := range record.Status.Consolidation.Nodes {
		if node.State != packingplan.NodeGivenUp && node.State != packingplan.NodeNotWorthIt {
			continue
		}
		at := slices.IndexFunc(refused, func(one packingpolicy.Refused) bool { return one.Reason == string(node.State) })
		if at < 0 {
			refused = append(refused, packingpolicy.Refused{Reason: string(node.State), Example: node.Name})
			at = len(refused) - 1
		}
		refused[at].Count++
	}
	return refused
}
