package priorityoptimizer

import (
	"context"
	"errors"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// verifyShare bounds the time for verifying intermediate plans: at most one part in so many of a solve.
const verifyShare = 5

// objection is why a plan cannot be carried out although it keeps the contract, and the constraints under which the next
// plan avoids that.
type objection struct {
	refusals    []packingplan.Refusal
	constraints []func(*snapshot.Snapshot)
	// noRoom: only room is lacking, which may come free.
	noRoom bool
}

// Error names the first of the reasons.
func (o *objection) Error() string {
	first := o.refusals[0]
	return first.Subject + ": " + first.Detail
}

func (o *objection) add(subject *snapshot.Pod, reason, detail string, constraint func(*snapshot.Snapshot)) {
	o.refusals = append(o.refusals, packingplan.Refusal{Subject: podName(subject.Object), Reason: reason, Detail: detail})
	o.constraints = append(o.constraints, constraint)
}

// Reasons of objections beside those of limits.
const (
	reasonNodeRefused   = "node-refused"
	reasonMovesBack     = "moves-back"
	reasonNeverPreempts = "never-preempts"
	detailMovesBack     = "an earlier plan moved a pod of this workload the other way"
	detailNeverPreempts = "no pod is evicted for one with preemptionPolicy Never"
	detailBeyondLimit   = "its disruption is one too many"
)

// verify checks a plan against the snapshot, the limits, the earlier plans and, by rehearsing it, the profile's own
// plugins. The error is an *objection, a *plan.RefusedError or a *rehearsal.StaleError.
func (l *loop) verify(ctx context.Context, session *solveSession, message *contract.Plan) (*plan.Plan, error) {
	checked, err := plan.Decode(message, session.snapshot, l.policy())
	if raised := neverPreempting(err, message, session.snapshot); raised != nil {
		return nil, raised
	}
	if err != nil || checked.Empty() {
		return checked, err
	}
	if raised := l.checkDisruptions(session, checked); raised != nil {
		return nil, raised
	}
	_, err = l.rehearse(ctx, checked)
	return checked, err
}

// verifyIntermediate verifies a plan that is not the final one, as long as that costs little time.
func (l *loop) verifyIntermediate(ctx context.Context, session *solveSession, better *contract.Plan) error {
	began := l.clock.Now()
	if began.Sub(session.verifiedAt) < (verifyShare-1)*session.verifyTook {
		return nil
	}
	_, err := l.verify(ctx, session, better)
	session.verifiedAt = l.clock.Now()
	session.verifyTook = session.verifiedAt.Sub(began)
	return err
}

// checkDisruptions objects to disruptions beyond the limits, and to moves that undo earlier ones.
func (l *loop) checkDisruptions(session *solveSession, checked *plan.Plan) error {
	raised := &objection{}
	pin := func(pod *snapshot.Pod, reason, detail string) {
		raised.add(pod, reason, detail, func(s *snapshot.Snapshot) { s.Pin(pod.Object.UID, reason) })
	}
	for _, excess := range checked.Beyond(l.args.Limits.ofPlan()) {
		pin(excess.Pod, excess.Limit, detailBeyondLimit)
	}
	for _, move := range checked.Returns(session.history) {
		pin(move.Pod, reasonMovesBack, detailMovesBack)
	}
	if len(raised.refusals) == 0 {
		return nil
	}
	return raised
}

// rehearse objects to pods that the profile's plugins do not let onto their nodes.
func (l *loop) rehearse(ctx context.Context, checked *plan.Plan) (rehearsal.Outcome, error) {
	outcome, err := (*l.rehearser.Load()).Replay(ctx, checked)
	if err != nil || len(outcome.Refusals) == 0 {
		return outcome, err
	}
	raised := &objection{noRoom: true}
	for _, refusal := range outcome.Refusals {
		raised.noRoom = raised.noRoom && refusal.NoRoom
		raised.add(refusal.Pod, reasonNodeRefused, refusal.Error(), func(s *snapshot.Snapshot) {
			s.Forbid(refusal.Pod.Class, refusal.Node)
		})
		if !refusal.NoRoom {
			l.refusalCache.add(snapshot.Pair{Class: refusal.Pod.Class, Node: refusal.Node}, l.clock.Now())
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
	raised := &objection{}
	for _, pod := range asked.Waiting(message) {
		if pod.NeverPreempts() {
			raised.add(pod, reasonNeverPreempts, detailNeverPreempts, func(s *snapshot.Snapshot) { s.Drop(pod.Object.UID) })
		}
	}
	if len(raised.refusals) == 0 {
		return nil
	}
	return raised
}

// addConstraints keeps an objection's constraints for the rest of the solve, and records the objection.
func (l *loop) addConstraints(session *solveSession, raised *objection) {
	session.constraints = append(session.constraints, raised.constraints...)
	for _, refusal := range raised.refusals {
		objectionsTotal.WithLabelValues(refusal.Reason).Inc()
		if len(session.record.Status.Objections) < maxRefusals {
			session.record.Status.Objections = append(session.record.Status.Objections, refusal)
		}
	}
}

// applyConstraints applies to a new snapshot what earlier plans and earlier rounds have ruled out.
func (l *loop) applyConstraints(session *solveSession) {
	for _, constrain := range session.constraints {
		constrain(session.snapshot)
	}
	if at := session.snapshot.NextChange; !at.IsZero() {
		session.noteChange(at)
	}
	now := l.clock.Now()
	pairs, next := l.refusalCache.current(now)
	for _, pair := range pairs {
		session.snapshot.Forbid(pair.Class, pair.Node)
	}
	if len(pairs) > 0 {
		session.noteChange(next)
	}
	cooling := l.cooling(session.history, now)
	if len(cooling) == 0 {
		return
	}
	for uid, pod := range session.snapshot.Pods {
		until, cools := cooling[pod.Owner]
		if cools && pod.Node != "" && pod.Immovable == "" {
			session.snapshot.Pin(uid, snapshot.CoolingDown)
			session.noteChange(until)
		}
	}
}
