package planning

import (
	"fmt"
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// optimality is what is proved of a plan. The optimiser proves something of the problem that it was given; users read it
// as said of their cluster. So it must hold there, or name the smaller problem.
type optimality struct {
	// solved: it is proved of the problem that no plan is better.
	solved bool
	// asked are the waiting pods of the problem, waiting those of the cluster.
	asked, waiting int
	// omitted is what the problem lacks of the cluster's.
	omitted []string
	// devices: more is more devices, not more pods.
	devices bool
	// consolidates: it is about nodes in use, not about waiting pods.
	consolidates bool
	// irremovable are the nodes of the scope that no such plan empties, each with the annotation that keeps it.
	irremovable []string
}

// Reasons of the condition Optimal.
const (
	reasonProved    = "Proved"
	reasonLeftAside = "LeftAside"
	reasonNotProved = "NotProved"
)

const (
	messageProved    = "no plan that keeps to the rules is better for the cluster as it was, in any tier"
	messageNotProved = "the optimiser found nothing better in time"
	// messageConsolidated is what is proved of a plan that consolidates.
	messageConsolidated = "no plan for the scope that keeps to the rules leaves fewer or cheaper nodes in use, or the same with fewer moves"
)

// budgetRefusal is no news: a budget is a rule of the cluster.
const budgetRefusal = "disruption-budget"

// optimality is what the session has proved so far.
func (s *Session) optimality() optimality {
	if s.Record.Consolidates() {
		return s.consolidationOptimality()
	}
	made := optimalityOf(s.Snapshot, s.answer, s.moveLimit)
	if scope := s.Rules.Scope; made.waiting > 0 && (scope.Nodes != nil || scope.Namespaces != nil) {
		made.omitted = append(made.omitted, "what is out of the plan's scope")
	}
	return made
}

// Proves says whether a plan for the snapshot, of whose pods and nodes the optimiser refused none, shows that no plan is
// better for the cluster.
func Proves(seen *snapshot.Snapshot, found *contract.Plan) bool {
	made := optimalityOf(seen, &contract.SolveUpdate{Plan: found}, nil)
	return made.proved()
}

// optimalityOf is what the answer to the snapshot proves; nil is no answer. moveLimit is nil where plans may have any
// number.
func optimalityOf(seen *snapshot.Snapshot, answer *contract.SolveUpdate, moveLimit *int32) optimality {
	made := optimality{waiting: seen.WaitingFrom(math.MinInt32), devices: seen.CountsDevices}
	made.asked = made.waiting - seen.WaitingOmitted()
	if made.waiting == 0 {
		made.solved = true // no pod waits, so there is nothing to be better at
		return made
	}
	made.omit(seen.Omissions(), moveLimit)
	if made.asked == 0 || answer == nil {
		made.solved = made.asked == 0
		return made
	}
	made.leaveRefused(seen, answer.Refusals)
	made.solved = answer.Plan.GetOptimal()
	if found := answer.Plan; made.asked == made.waiting && len(found.GetPlacements()) == made.asked &&
		len(found.GetMoves()) == 0 && len(found.GetEvictions()) == 0 {
		made.omitted = nil // nothing can be better than that
	}
	return made
}

func (o *optimality) omit(some []snapshot.Omission, moveLimit *int32) {
	for _, one := range some {
		o.omitted = append(o.omitted, one.String())
	}
	if moveLimit != nil {
		o.omitted = append(o.omitted, fmt.Sprintf("plans of more than %d moves, which do not fit into one object", *moveLimit))
	}
}

// leaveRefused omits what the optimiser refused beyond what the snapshot says.
func (o *optimality) leaveRefused(seen *snapshot.Snapshot, refusals []*contract.Refusal) {
	counted := sets.New[string]() // the snapshot counts the pods of these
	for _, class := range seen.Message.PodClasses {
		if len(class.Unsupported) > 0 {
			counted.Insert("class " + class.Id)
		}
	}
	refused := sets.New[string]()
	for _, one := range refusals {
		if one.Reason != budgetRefusal && !counted.Has(one.Subject) {
			refused.Insert(one.Subject)
		}
	}
	if refused.Len() == 0 {
		return
	}
	for _, pod := range seen.Pods {
		if pod.Node == "" && !pod.Unsupported && isRefused(pod, refused) {
			o.asked--
		}
	}
	o.omitted = append(o.omitted, fmt.Sprintf("%d classes, nodes and others that the optimiser refused", refused.Len()))
}

// Refuses selects the pods that the optimiser has left to the scheduler.
func (s *Session) Refuses() func(*v1.Pod) bool {
	refused := sets.New[string]()
	if s.answer != nil {
		for _, refusal := range s.answer.Refusals {
			refused.Insert(refusal.Subject)
		}
	}
	return func(pod *v1.Pod) bool {
		if refused.Len() == 0 {
			return false
		}
		asked := s.Snapshot.Pods[pod.UID]
		return asked != nil && isRefused(asked, refused)
	}
}

func isRefused(pod *snapshot.Pod, refused sets.Set[string]) bool {
	return refused.Has("pod "+klog.KObj(pod.Object).String()) || refused.Has("class "+pod.Class)
}

// proved says that no plan for the cluster is better.
func (o *optimality) proved() bool { return o.solved && len(o.omitted) == 0 }

// irremovableShown is how many nodes are named that autoscalers may not remove.
const irremovableShown = 3

// message is what is proved: all of it in the given words, or of which part; and by what rule nodes are left alone.
func (o *optimality) message(all string) string {
	said := o.proof(all)
	if o.devices && o.solved && o.waiting > 0 {
		said += "; devices are counted, not pods"
	}
	if len(o.irremovable) == 0 {
		return said
	}
	said += "; in use whatever happens, since autoscalers may not remove them: " +
		strings.Join(o.irremovable[:min(irremovableShown, len(o.irremovable))], ", ")
	if more := len(o.irremovable) - irremovableShown; more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}

func (o *optimality) proof(all string) string {
	switch {
	case !o.solved:
		return messageNotProved
	case len(o.omitted) == 0:
		return all
	case o.consolidates:
		return "proved best but for what was left aside: " + strings.Join(o.omitted, ", ")
	}
	return fmt.Sprintf("optimal for %d of %d waiting pods; left aside: %s", o.asked, o.waiting, strings.Join(o.omitted, ", "))
}

// describe puts what is proved into the status. The tiers then say what is known of the cluster: a bound of a smaller
// problem is none.
func (s *Session) describe(made optimality, now time.Time) {
	status := &s.Record.Status
	status.Optimal = made.proved()
	if len(made.omitted) > 0 {
		for i := range status.Tiers {
			tier := &status.Tiers[i]
			tier.Optimal, tier.UpperBound = false, tier.PlacedBefore+int32(s.Snapshot.WaitingFrom(tier.Priority))
			if tier.Devices != nil {
				tier.Devices.UpperBound = ""
			}
		}
	}
	reason := reasonProved
	if !made.solved {
		reason = reasonNotProved
	} else if len(made.omitted) > 0 {
		reason = reasonLeftAside
	}
	proved := messageProved
	if made.consolidates {
		proved = messageConsolidated
	}
	status.Set(packingplan.Optimal, status.Optimal, reason, made.message(proved), now)
}

// endReason is the optimiser's end reason without the prefix of its enum.
func endReason(answer *contract.SolveUpdate) string {
	return strings.TrimPrefix(answer.EndReason.String(), "END_REASON_")
}

// conditionReason turns TIME_LIMIT into TimeLimit, as reasons of conditions are written.
func conditionReason(label string) string {
	reason := ""
	for _, word := range strings.Split(strings.ToLower(label), "_") {
		if word != "" {
			reason += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return reason
}

func describeAnswer(status *packingplan.Status, answer *contract.SolveUpdate, on *snapshot.Snapshot) {
	status.EndReason = endReason(answer)
	if answer.Strategy != "" {
		status.Strategy = answer.Strategy
	}
	status.Message = packingplan.Shortened(answer.Message)
	status.Refusals, status.Tiers = nil, nil // of an earlier round
	for _, refusal := range answer.Refusals[:min(len(answer.Refusals), records.MaxRefusals)] {
		status.Refusals = append(status.Refusals, packingplan.Refusal{
			Subject: packingplan.Shortened(refusal.Subject), Reason: packingplan.Shortened(refusal.Reason), Detail: packingplan.Shortened(refusal.Detail)})
	}
	tiers := answer.Plan.GetTiers()
	for _, tier := range tiers[:min(len(tiers), records.MaxTiers)] {
		made := packingplan.Tier{Priority: tier.Priority, PlacedBefore: tier.PlacedBefore, Placed: tier.Placed,
			UpperBound: tier.UpperBound, Optimal: tier.Optimal}
		if on.CountsDevices {
			made.Devices = &packingplan.TierDevices{PlacedBefore: snapshot.InDevices(int64(tier.PlacedBefore)),
				Placed: snapshot.InDevices(int64(tier.Placed)), UpperBound: snapshot.InDevices(int64(tier.UpperBound))}
			made.PlacedBefore, made.Placed = countPods(tier.Priority, on, answer.Plan)
			made.UpperBound = made.PlacedBefore + int32(on.WaitingFrom(tier.Priority))
		}
		status.Tiers = append(status.Tiers, made)
	}
}

// countPods counts the pods of at least that priority that have a node before and after the plan.
func countPods(priority int32, on *snapshot.Snapshot, of *contract.Plan) (before, after int32) {
	for _, pod := range on.Pods {
		if pod.Node != "" && pod.Priority >= priority {
			before++
		}
	}
	after = before
	for _, one := range of.GetPlacements() {
		if pod := on.Pods[types.UID(one.GetPodUid())]; pod != nil && pod.Priority >= priority {
			after++
		}
	}
	for _, one := range of.GetEvictions() {
		if pod := on.Pods[types.UID(one.GetPodUid())]; pod != nil && pod.Priority >= priority {
			after--
		}
	}
	return before, after
}

// describeProtected lists the rules that protected running pods from the plan, and how many pods wait because of them.
func describeProtected(status *packingplan.Status, asked *snapshot.Snapshot, answer *contract.Plan) {
	placed := sets.New[types.UID]()
	for _, placement := range answer.GetPlacements() {
		placed.Insert(types.UID(placement.GetPodUid()))
	}
	status.Protected = nil // of an earlier round
	for _, kept := range asked.Protections(func(uid types.UID) bool { return !placed.Has(uid) }) {
		status.Protected = append(status.Protected, packingplan.Protected{Reason: kept.Reason, Pods: int32(kept.Pods),
			Example: kept.Example, InTheWayOf: int32(kept.InTheWayOf)})
	}
}
