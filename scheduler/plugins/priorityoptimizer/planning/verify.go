package planning

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
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

// pin has the next plan leave the pod where it is.
func (o *Objection) pin(pod *snapshot.Pod, reason, detail string) {
	o.add(pod, reason, detail, func(of *snapshot.Snapshot) { of.Pin(pod.Object.UID, reason) })
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
	// ReasonReplacementRefused: the API server would not let the pod's replacement in.
	ReasonReplacementRefused = "replacement-refused"
)

// verify checks a plan against the snapshot, the limits, the earlier plans and, by rehearsing it, the profile's own
// plugins. One that consolidates is reduced to what it is worth. The error is an *Objection, a *plan.RefusedError or a
// *rehearsal.StaleError.
func (s *Session) verify(ctx context.Context, message *contract.Plan) (*plan.Plan, error) {
	checked, err := s.decode(message)
	if raised := neverPreempting(err, message, s.Snapshot); raised != nil {
		return nil, raised
	}
	consolidates := s.Record.Consolidates() && message != nil // there may be no answer in time
	if err == nil && consolidates {
		checked, err = s.reduce(ctx, checked)
	}
	if err == nil && !checked.Empty() {
		err = s.checkDisruptions(checked)
	}
	if err == nil && !checked.Empty() && s.Policy() != plan.Drain {
		_, err = s.rehearse(ctx, checked)
	}
	if err == nil && consolidates {
		s.describeConsolidation(checked)
	}
	return checked, err
}

// decode reads a plan of the optimiser's, which chooses the nodes also of pods that another scheduler places.
func (s *Session) decode(message *contract.Plan) (*plan.Plan, error) {
	policy := s.Policy()
	if policy == plan.Drain {
		policy = plan.Consolidate
	}
	return plan.Decode(message, s.Snapshot, policy)
}

// verifyIntermediate verifies a plan that is not the final one, as long as that costs little time.
func (s *Session) verifyIntermediate(ctx context.Context, better *contract.Plan) error {
	began := s.Clock.Now()
	if began.Sub(s.verifiedAt) < (verifyShare-1)*s.verifyTook {
		return nil
	}
	if s.Record.Consolidates() {
		_, err := s.decode(better)
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
	for _, excess := range checked.Beyond(s.limits()) {
		raised.pin(excess.Pod, excess.Limit, DetailBeyondLimit)
	}
	for _, move := range checked.Returns(s.history) {
		raised.pin(move.Pod, reasonMovesBack, detailMovesBack)
	}
	return raised.orNil()
}

// rehearse objects to pods that the profile's plugins do not let onto their nodes.
func (p *Planner) rehearse(ctx context.Context, checked *plan.Plan) (rehearsal.Outcome, error) {
	outcome, err := (*p.Rehearser.Load()).Replay(ctx, checked)
	for _, one := range outcome.Differences {
		metrics.DeviceDifferencesTotal.Inc()
		klog.FromContext(ctx).Info("A pod of a plan gets other devices than the optimiser says", "pod", klog.KObj(one.Pod.Object),
			"node", one.Node, "planned", one.Planned, "gets", one.Came)
	}
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
	for _, unit := range packingplan.Units(plan.StepsOf(message, asked)) {
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

const (
	// dryRunsOfPlan is about how many workloads of a plan the API server is asked at most, dryRunsAtOnce at a time, and
	// dryRunTime how long all of that may take. What is left unanswered is left to the rules.
	dryRunsOfPlan = 64
	dryRunsAtOnce = 8
	dryRunTime    = 2 * time.Second
)

// askReplacements has the API server create the replacement of one pod of each workload that the plan disrupts, as a dry
// run: webhooks and policies may refuse it. It objects to the workloads whose replacement was refused.
func (s *Session) askReplacements(ctx context.Context, checked *plan.Plan) error {
	if !s.Args.DryRunReplacements {
		return nil
	}
	var pods []*snapshot.Pod
	for _, pod := range checked.Disrupted() {
		if pod.Owner != "" && !s.dryRun.Has(pod.Owner) && s.dryRun.Len() < dryRunsOfPlan {
			s.dryRun.Insert(pod.Owner)
			pods = append(pods, pod)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dryRunTime)
	defer cancel()
	answers := make([]error, len(pods))
	var group errgroup.Group
	group.SetLimit(dryRunsAtOnce)
	for i, pod := range pods {
		group.Go(func() error {
			answers[i] = s.dryRunOf(ctx, pod)
			return nil
		})
	}
	_ = group.Wait() // every answer is looked at
	raised := &Objection{}
	for i, pod := range pods {
		switch err := answers[i]; {
		case err == nil:
		case isRefusal(err):
			s.refusedOwners[pod.Owner] = s.Clock.Now().Add(snapshot.LookAgain)
			s.dryRun.Delete(pod.Owner) // its pods are pinned as long as that counts
			raised.pin(pod, ReasonReplacementRefused, err.Error())
		default:
			s.Records.Logger(s.Record).Info("No answer whether a replacement would be let in", "pod", klog.KObj(pod.Object), "reason", err.Error())
		}
	}
	return raised.orNil()
}

// dryRunOf is what the API server says of the pod's replacement; nil also where no template of it is known.
func (s *Session) dryRunOf(ctx context.Context, pod *snapshot.Pod) error {
	replacement := snapshot.FromTemplate(pod.Object, s.View.Workloads)
	if replacement == nil {
		return nil
	}
	_, err := s.Client.CoreV1().Pods(replacement.Namespace).Create(ctx, replacement, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// isRefusal says that the API server has decided against the replacement. A dry run still counts the pod that is to leave,
// so what it says of a quota that is exceeded is left to the rule that knows better; and a scheduler that may create no
// pods has not asked.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || records.Unanswered(err) || apierrors.IsTooManyRequests(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsAlreadyExists(err) {
		return false
	}
	text := err.Error()
	return !strings.Contains(text, "exceeded quota") && !strings.Contains(text, `cannot create resource "pods"`)
}
