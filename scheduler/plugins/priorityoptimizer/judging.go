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

// judgingShare bounds the part of a solve that goes into judging plans that are not the last.
const judgingShare = 5

// objection is why a plan cannot be carried out although it keeps the contract, and what the
// optimiser has to be told so that its next plan can be.
type objection struct {
	refusals []packingplan.Refusal
	amend    []func(*snapshot.Snapshot)
	// roomless: nothing but room is lacking, which may be on its way.
	roomless bool
}

// Error names the first of the reasons.
func (o *objection) Error() string {
	first := o.refusals[0]
	return first.Subject + ": " + first.Detail
}

func (o *objection) add(subject *snapshot.Pod, reason, detail string, amend func(*snapshot.Snapshot)) {
	o.refusals = append(o.refusals, packingplan.Refusal{Subject: podName(subject.Object), Reason: reason, Detail: detail})
	o.amend = append(o.amend, amend)
}

// Reasons of objections beside those of limits.
const (
	reasonNodeRefused   = "node-refused"
	reasonMovesBack     = "moves-back"
	reasonNeverPreempts = "never-preempts"
	detailMovesBack     = "an earlier plan moved a pod of this workload the other way"
	detailNeverPreempts = "nobody is evicted for a pod with preemptionPolicy Never"
	detailBeyondLimit   = "its disruption is one too many"
)

// judge checks a plan against the snapshot, the limits, the earlier plans and, by rehearsing it,
// the profile's own plugins. The error is an *objection, a *plan.RefusedError or that of a
// cluster that has changed.
func (l *loop) judge(ctx context.Context, q *question, message *contract.Plan) (*plan.Plan, error) {
	checked, err := plan.Decode(message, q.asked, l.policy())
	if raised := neverPreempting(err, message, q.asked); raised != nil {
		return nil, raised
	}
	if err != nil || checked.Empty() {
		return checked, err
	}
	if raised := l.unwanted(q, checked); raised != nil {
		return nil, raised
	}
	_, err = l.rehearse(ctx, checked)
	return checked, err
}

// judgeOnTheWay judges a plan that is not the last, as long as that costs little.
func (l *loop) judgeOnTheWay(ctx context.Context, q *question, better *contract.Plan) error {
	began := l.clock.Now()
	if began.Sub(q.judged) < (judgingShare-1)*q.judging {
		return nil
	}
	_, err := l.judge(ctx, q, better)
	q.judged = l.clock.Now()
	q.judging = q.judged.Sub(began)
	return err
}

// unwanted objects to disruptions beyond the limits, and to those that take back earlier ones.
func (l *loop) unwanted(q *question, checked *plan.Plan) error {
	raised := &objection{}
	pin := func(pod *snapshot.Pod, reason, detail string) {
		raised.add(pod, reason, detail, func(s *snapshot.Snapshot) { s.Pin(pod.Object.UID, reason) })
	}
	for _, excess := range checked.Beyond(l.args.Limits.ofPlan()) {
		pin(excess.Pod, excess.Limit, detailBeyondLimit)
	}
	for _, move := range checked.Returns(q.history) {
		pin(move.Pod, reasonMovesBack, detailMovesBack)
	}
	if len(raised.refusals) == 0 {
		return nil
	}
	return raised
}

// rehearse objects to pods that the profile's plugins do not let onto their nodes.
func (l *loop) rehearse(ctx context.Context, checked *plan.Plan) (rehearsal.Outcome, error) {
	outcome, err := (*l.stage.Load()).Replay(ctx, checked)
	if err != nil || len(outcome.Refusals) == 0 {
		return outcome, err
	}
	raised := &objection{roomless: true}
	for _, refusal := range outcome.Refusals {
		raised.roomless = raised.roomless && refusal.Roomless
		raised.add(refusal.Pod, reasonNodeRefused, refusal.Error(), func(s *snapshot.Snapshot) {
			s.Forbid(refusal.Pod.Class, refusal.Node)
		})
		if !refusal.Roomless {
			l.lessons.learn(snapshot.Pair{Class: refusal.Pod.Class, Node: refusal.Node}, l.clock.Now())
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

// heed remembers an objection for the rest of the solve, and puts it on the record.
func (l *loop) heed(q *question, raised *objection) {
	q.amend = append(q.amend, raised.amend...)
	for _, refusal := range raised.refusals {
		objectionsTotal.WithLabelValues(refusal.Reason).Inc()
		if len(q.record.Status.Objections) < maxRefusals {
			q.record.Status.Objections = append(q.record.Status.Objections, refusal)
		}
	}
}

// amend takes into a new snapshot what is known from earlier plans and earlier rounds.
func (l *loop) amend(q *question) {
	for _, amend := range q.amend {
		amend(q.asked)
	}
	if at := q.asked.NextChange; !at.IsZero() {
		q.passesAt(at)
	}
	now := l.clock.Now()
	pairs, next := l.lessons.at(now)
	for _, pair := range pairs {
		q.asked.Forbid(pair.Class, pair.Node)
	}
	if len(pairs) > 0 {
		q.passesAt(next)
	}
	cooling := l.cooling(q.history, now)
	if len(cooling) == 0 {
		return
	}
	for uid, pod := range q.asked.Pods {
		until, cools := cooling[pod.Owner]
		if cools && pod.Node != "" && pod.Immovable == "" {
			q.asked.Pin(uid, snapshot.CoolingDown)
			q.passesAt(until)
		}
	}
}
