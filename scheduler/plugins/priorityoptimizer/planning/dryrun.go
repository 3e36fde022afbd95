package planning

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// dryRunsOfPlan is about how many workloads of a plan the API server is asked at most, dryRunsAtOnce at a time, and
	// dryRunTime how long all of that may take. What is left unanswered is left to the rules.
	dryRunsOfPlan = 64
	dryRunsAtOnce = 8
	dryRunTime    = 2 * time.Second
)

const ReasonReplacementRefused = "replacement-refused"

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
			raised.add(pod, ReasonReplacementRefused, err.Error(), func(of *snapshot.Snapshot) { pinAll(of, pod.Owner) })
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

// keepRefused pins the pods of workloads whose replacement was refused a short while ago.
func (s *Session) keepRefused() {
	now := s.Clock.Now()
	maps.DeleteFunc(s.refusedOwners, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
	s.pin(ReasonReplacementRefused, func(pod *snapshot.Pod) (time.Time, bool) {
		until, refused := s.refusedOwners[pod.Owner]
		return until, refused
	})
}

// pinAll pins the pods of a workload that might be moved.
func pinAll(of *snapshot.Snapshot, owner types.UID) {
	for uid, pod := range of.Pods {
		if pod.Owner == owner && pod.Node != "" && pod.Immovable == "" {
			of.Pin(uid, ReasonReplacementRefused)
		}
	}
}
