package planning

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// verifyShare bounds the time for verifying intermediate plans: at most one part in so many of a solve.
const verifyShare = 5

// Objection is why a plan cannot be carried out although it keeps the contract, and the constraints under which the next
// plan avoids that.
type Objection struct {
	refusals    []packingplan.Refusal
	constraints []func(*snapshot.Snapshot)
	// NoRoom: only room is lacking, which may come free.
	NoRoom bool
}

// Error names the first of the reasons.
func (o *Objection) Error() string {
	first := o.refusals[0]
	return first.Subject + ": " + first.Detail
}

// orNil is nil if there is no reason.
func (o *Objection) orNil() error {
	if len(o.refusals) == 0 {
		return nil
	}
	return o
}

func (o *Objection) add(subject *snapshot.Pod, reason, detail string, constraint func(*snapshot.Snapshot)) {
	o.refusals = append(o.refusals, packingplan.Refusal{Subject: klog.KObj(subject.Object).String(), Reason: reason, Detail: detail})
	o.constraints = append(o.constraints, constraint)
}

// Reasons of objections beside those of limits.
const (
	ReasonNodeRefused   = "node-refused"
	reasonMovesBack     = "moves-back"
	reasonNeverPreempts = "never-preempts"
	detailMovesBack     = "an earlier plan moved a pod of this workload the other way"
	detailNeverPreempts = "no pod is evicted for one with preemptionPolicy Never"
	DetailBeyondLimit   = "its disruption is one too many"
)

// verify checks a plan against the snapshot, the limits, the earlier plans and, by rehearsing it, the profile's own
// plugins. The error is an *objection, a *plan.RefusedError or a *rehearsal.StaleError.
func (s *Session) verify(ctx context.Context, message *contract.Plan) (*plan.Plan, error) {
	checked, err := plan.Decode(message, s.Snapshot, s.Policy())
	if raised := neverPreempting(err, message, s.Snapshot); raised != nil {
		return nil, raised
	}
	if err != nil || checked.Empty() {
		return checked, err
	}
	if raised := s.checkDisruptions(checked); raised != nil {
		return nil, raised
	}
	_, err = s.rehearse(ctx, checked)
	return checked, err
}

// verifyIntermediate verifies a plan that is not the final one, as long as that costs little time.
func (s *Session) verifyIntermediate(ctx context.Context, better *contract.Plan) error {
	began := s.Clock.Now()
	if began.Sub(s.verifiedAt) < (verifyShare-1)*s.verifyTook {
		return nil
	}
	if s.Record.Consolidates() {
		_, err := plan.Decode(better, s.Snapshot, plan.Consolidate)
		return err
	}
	_, err := s.verify(ctx, better)
	s.verifiedAt = s.Clock.Now()
	s.verifyTook = s.verifiedAt.Sub(began)
	return err
}

// checkDisruptions objects to disruptions beyond the limits, and to moves that undo earlier ones.
func (s *Session) checkDisruptions(checked *plan.Plan) error {
	raised := &Objection{}
	pin := func(pod *snapshot.Pod, reason, detail string) {
		raised.add(pod, reason, detail, func(of *snapshot.Snapshot) { of.Pin(pod.Object.UID, reason) })
	}
	for _, excess := range checked.Beyond(s.limits()) {
		pin(excess.Pod, excess.Limit, DetailBeyondLimit)
	}
	for _, move := range checked.Returns(s.history) {
		pin(move.Pod, reasonMovesBack, detailMovesBack)
	}
	return raised.orNil()
}

// rehearse objects to pods that the profile's plugins do not let onto their nodes.
func (p *Planner) rehearse(ctx context.Context, checked *plan.Plan) (rehearsal.Outcome, error) {
	outcome, err := (*p.Rehearser.Load()).Replay(ctx, checked)
	if err != nil || len(outcome.Refusals) == 0 {
		return outcome, err
	}
	raised := &Objection{NoRoom: true}
	for _, refusal := range outcome.Refusals {
		raised.NoRoom = raised.NoRoom && refusal.NoRoom
		raised.add(refusal.Pod, ReasonNodeRefused, refusal.Error(), func(of *snapshot.Snapshot) {
			of.Forbid(refusal.Pod.Class, refusal.Node)
		})
		if !refusal.NoRoom {
			p.refusedPairs[snapshot.Pair{Class: refusal.Pod.Class, Node: refusal.Node}] = p.Clock.Now().Add(refusalTTL)
		}
	}
	return outcome, raised
}

// neverPreempting objects to a plan that evicts for the sake of pods that must not preempt.
func neverPreempting(err error, message *contract.Plan, asked *snapshot.Snapshot) error {
	var refused *plan.RefusedError
	if !errors.As(err, &refused) || refused.Reason != plan.UnjustEviction {
		return nil
	}
	raised := &Objection{}
	for _, unit := range packingplan.Units(plan.StepsOf(message)) {
		pods := asked.Waiting(unit)
		if !slices.ContainsFunc(pods, (*snapshot.Pod).NeverPreempts) {
			continue
		}
		for _, pod := range pods {
			raised.add(pod, reasonNeverPreempts, detailNeverPreempts, func(of *snapshot.Snapshot) { of.Drop(pod.Object.UID) })
		}
	}
	return raised.orNil()
}

// addConstraints keeps an objection's constraints for the rest of the solve, and records the objection.
func (s *Session) addConstraints(raised *Objection) {
	s.constraints = append(s.constraints, raised.constraints...)
	for _, refusal := range raised.refusals {
		metrics.ObjectionsTotal.WithLabelValues(refusal.Reason).Inc()
		if len(s.Record.Status.Objections) < records.MaxRefusals {
			s.Record.Status.Objections = append(s.Record.Status.Objections, refusal)
		}
	}
}

// applyConstraints applies to a new snapshot what earlier plans and earlier rounds have ruled out.
func (s *Session) applyConstraints() {
	for _, constrain := range s.constraints {
		constrain(s.Snapshot)
	}
	if at := s.Snapshot.NextChange; !at.IsZero() {
		s.noteChange(at)
	}
	now := s.Clock.Now()
	for pair, until := range s.refusedPairs {
		if !now.Before(until) {
			delete(s.refusedPairs, pair)
			continue
		}
		s.Snapshot.Forbid(pair.Class, pair.Node)
		s.noteChange(until)
	}
	// Whatever keeps the replacement of a pod away that an earlier plan has moved may keep the next one away.
	s.pinOwned(s.View.Broken(s.Records.Unreplaced()), snapshot.LostReplacement)
	s.keepShort()
	s.keepRefused()
	cooling := coolingAt(now, s.history, config.Seconds(s.Args.CoolDownSeconds))
	recent := recentlyMoved(now, s.history, records.CoolDownOf(s.Record))
	s.pin(snapshot.CoolingDown, func(pod *snapshot.Pod) (time.Time, bool) {
		if until, cools := cooling[pod.Owner]; cools {
			return until, true
		}
		return recent.cools(pod)
	})
}

// pin pins the pods that might be moved and that the condition selects, and notes until when.
func (s *Session) pin(reason string, which func(*snapshot.Pod) (until time.Time, kept bool)) {
	for uid, pod := range s.Snapshot.Pods {
		if pod.Node == "" || pod.Immovable != "" {
			continue
		}
		if until, kept := which(pod); kept {
			s.Snapshot.Pin(uid, reason)
			s.noteChange(until)
		}
	}
}

// pinOwned pins the pods of the workloads until it is time to look again.
func (s *Session) pinOwned(by sets.Set[types.UID], reason string) {
	until := s.Clock.Now().Add(snapshot.LookAgain)
	s.pin(reason, func(pod *snapshot.Pod) (time.Time, bool) { return until, by.Has(pod.Owner) })
}

// coolingAt are the workloads that an earlier plan has recently disrupted, and until when they are left alone.
func coolingAt(now time.Time, history []plan.Moved, coolDown time.Duration) map[types.UID]time.Time {
	cooling := map[types.UID]time.Time{}
	for _, moved := range history {
		until := moved.At.Add(coolDown)
		if moved.Owner != "" && now.Before(until) && until.After(cooling[moved.Owner]) {
			cooling[moved.Owner] = until
		}
	}
	return cooling
}

// lateReplacement is how long after the end of a plan the replacement of one of its pods may be created.
const lateReplacement = time.Minute

// resolution is that of the times in objects, which are cut off.
const resolution = time.Second

// times are when plans that moved pods of a workload went on, and until when its replacements are left alone.
type times []struct{ began, ended, until time.Time }

// recent are the workloads of which plans have moved pods within the cool-down that a plan asks for. Only what these plans
// moved is left alone, which is known by when it was created; all other pods of the workload have not been moved.
type recent map[types.UID]times

func recentlyMoved(now time.Time, history []plan.Moved, coolDown time.Duration) recent {
	found := recent{}
	for _, moved := range history {
		until := moved.At.Add(coolDown + resolution)
		if moved.Owner == "" || !now.Before(until) {
			continue
		}
		of := found[moved.Owner]
		if last := len(of) - 1; last < 0 || !of[last].began.Equal(moved.Began) {
			found[moved.Owner] = append(of, struct{ began, ended, until time.Time }{
				moved.Began.Truncate(resolution), moved.At.Add(lateReplacement), until})
		}
	}
	return found
}

// cools says whether the pod replaces one that was moved, and until when it is left alone.
func (r recent) cools(pod *snapshot.Pod) (until time.Time, cools bool) {
	created := pod.Object.CreationTimestamp.Time
	for _, one := range r[pod.Owner] {
		if !created.Before(one.began) && !created.After(one.ended) && one.until.After(until) {
			until, cools = one.until, true
		}
	}
	return until, cools
}
