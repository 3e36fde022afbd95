package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	planner "github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/scorecache"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Verdict says whether the scheduler would carry out one plan.
type Verdict struct {
	Accepted bool `json:"accepted"`
	// Proved says that the plan shows that no other one is better for the cluster.
	Proved bool `json:"proved,omitempty"`
	// Reason is the typed refusal, "rehearsal" where a plugin of the profile refuses, "limit" where the plan disrupts more
	// than a limit allows, or "stale" where a pod never gets its turn.
	Reason string `json:"reason,omitempty"`
	// Plugins are those that refuse in the rehearsal; "" where no single one does.
	Plugins []string `json:"plugins,omitempty"`
	// Pods are the UIDs of the pods that the plugins refuse, or whose disruption is one too many.
	Pods   []string `json:"pods,omitempty"`
	Detail string   `json:"detail,omitempty"`
}

// Answer is the answer to a question: the snapshot in the contract's JSON form, and a verdict on each plan.
type Answer struct {
	ID       string          `json:"id"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Verdicts []Verdict       `json:"verdicts,omitempty"`
	// Continued is there if it was asked for, and the first plan is accepted.
	Continued *Continued `json:"continued,omitempty"`
	Reading
	// Error says why there is no answer.
	Error string `json:"error,omitempty"`
}

// Reasons of refusals that are not the plan's own.
const (
	rehearsalReason = "rehearsal"
	limitReason     = "limit"
	staleReason     = "stale"
)

// Answer stores the instance as it is, and gives the running scheduler's verdict on each plan.
func (s *Simulator) Answer(ctx context.Context, question Question) (Answer, error) {
	r, err := s.start(ctx, question.Instance, nil)
	if err != nil {
		return Answer{}, err
	}
	defer r.stop()
	checker, err := s.newPlanChecker(r, question)
	if err != nil {
		return Answer{}, err
	}
	message, err := protojson.Marshal(checker.snapshot.Message)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{ID: question.ID, Snapshot: message, Reading: r.reading}
	var first checkedPlan
	for i, text := range question.Plans {
		checked, verdict, err := checker.check(r.ctx, text)
		if err != nil {
			return Answer{}, fmt.Errorf("plans[%d]: %w", i, err)
		}
		if i == 0 {
			first = checked
		}
		answer.Verdicts = append(answer.Verdicts, verdict)
	}
	if question.Continue > 0 && (len(answer.Verdicts) == 0 || answer.Verdicts[0].Accepted) {
		answer.Continued, err = r.continueAfter(first, checker.snapshot, question)
	}
	return answer, err
}

func (r *run) continueAfter(carriedOut checkedPlan, seen *snapshot.Snapshot, question Question) (*Continued, error) {
	if err := r.carryOut(carriedOut); err != nil {
		return nil, err
	}
	return r.continueWith(seen, question.Pods, time.Duration(question.Continue*float64(time.Second)))
}

// planChecker checks plans for one cluster, as the plugin does with the optimiser's.
type planChecker struct {
	rehearser *rehearsal.Framework
	snapshot  *snapshot.Snapshot
	policy    plan.Policy
	limits    plan.Limits
}

func (s *Simulator) newPlanChecker(r *run, question Question) (*planChecker, error) {
	profile := s.configuration.Profiles[0]
	handle := r.scheduler.Profiles[profile.SchedulerName]
	devices := resources.NewCatalogue()
	devices.Clock = r.clock
	rehearser, err := rehearsal.NewFramework(r.ctx, rehearsal.Profile{
		Original: handle, Configuration: profile, OutOfTree: s.plugins,
		Without: []string{scorecache.Name}, Devices: devices}, r.scheduler.Cache)
	if err != nil {
		return nil, err
	}
	args, err := question.arguments()
	if err != nil {
		return nil, err
	}
	rules := args.Rules(profile.SchedulerName)
	rules.InTurn = question.policy() == plan.Consolidate
	view, err := clusterview.New(handle, rules, devices)
	if err != nil {
		return nil, err
	}
	view.Clock = testingclock.NewFakePassiveClock(time.Time{}) // no pod is too young
	if err := r.watch(); err != nil {
		return nil, err
	}
	if err := r.store(question.Instance); err != nil {
		return nil, err
	}
	seen := view.Snapshot(question.ID)
	for _, pair := range question.Forbidden {
		pair.forbid(seen)
	}
	return &planChecker{rehearser: rehearser, snapshot: seen, policy: question.policy(), limits: args.Limits.OfPlan()}, nil
}

// checkedPlan is a plan, and what happens in its rehearsal if it is accepted.
type checkedPlan struct {
	plan.Plan
	events []rehearsal.Event
}

// check fails only if the text is not a plan, or cannot be checked; everything else is a verdict.
func (c *planChecker) check(ctx context.Context, text []byte) (checkedPlan, Verdict, error) {
	message := &contract.Plan{}
	if err := protojson.Unmarshal(text, message); err != nil {
		return checkedPlan{}, Verdict{}, fmt.Errorf("not a plan: %w", err)
	}
	decoded, err := plan.Decode(message, c.snapshot, c.policy)
	if refused, is := errors.AsType[*plan.RefusedError](err); is {
		return checkedPlan{}, Verdict{Reason: string(refused.Reason), Detail: refused.Detail}, nil
	}
	if err != nil {
		return checkedPlan{}, Verdict{}, err
	}
	checked := checkedPlan{Plan: *decoded}
	if excess := checked.Beyond(c.limits); len(excess) > 0 {
		return checked, beyond(excess), nil
	}
	if !checked.Empty() {
		outcome, err := c.rehearser.Replay(ctx, decoded)
		if stale, is := errors.AsType[*rehearsal.StaleError](err); is {
			return checked, Verdict{Reason: staleReason, Detail: stale.Error()}, nil
		}
		if err != nil {
			return checked, Verdict{}, err
		}
		if len(outcome.Refusals) > 0 {
			return checked, refusedBy(outcome.Refusals), nil
		}
		checked.events = outcome.Events
	}
	return checked, Verdict{Accepted: true, Proved: planner.Proves(c.snapshot, message)}, nil
}

// beyond names every pod whose disruption is one too many, and the first limit.
func beyond(excess []plan.Excess) Verdict {
	verdict := Verdict{Reason: limitReason, Detail: excess[0].Limit}
	for _, one := range excess {
		verdict.Pods = append(verdict.Pods, string(one.Pod.Object.UID))
	}
	return verdict
}

// refusedBy names every plugin once and every pod, and gives the first refusal in full.
func refusedBy(refusals []rehearsal.Refusal) Verdict {
	verdict := Verdict{Reason: rehearsalReason, Detail: refusals[0].Error()}
	for _, refusal := range refusals {
		verdict.Pods = append(verdict.Pods, string(refusal.Pod.Object.UID))
		if !slices.Contains(verdict.Plugins, refusal.Plugin) {
			verdict.Plugins = append(verdict.Plugins, refusal.Plugin)
		}
	}
	return verdict
}

// store creates nodes and pods without scheduling any. It leaves out pods that have finished, like the scheduler's
// informer.
func (r *run) store(instance Instance) error {
	if err := r.addNodes(instance); err != nil {
		return err
	}
	for i := range instance.Pods {
		pod := &instance.Pods[i]
		if podutil.IsPodTerminal(pod) {
			continue
		}
		if err := r.storePod(pod.DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}
