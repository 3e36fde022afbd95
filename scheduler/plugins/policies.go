package plugins

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
	"github.com/stowage/stowage/scheduler/packingpolicy/controller"
)

// startPolicies starts the controller of PackingPolicies as soon as the process leads, if any profile makes plans and
// there is an API server. The watch of plans is not started.
func (i *Installation) startPolicies(
	ctx context.Context, to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile, lease *leadership.Lease,
) error {
	planning := slices.IndexFunc(profiles, func(profile config.KubeSchedulerProfile) bool {
		return i.optimizers[profile.SchedulerName] != nil
	})
	if i.plans == nil || planning < 0 {
		return nil
	}
	handle := to.Profiles[profiles[planning].SchedulerName]
	made, err := client(handle)
	if err != nil {
		return err
	}
	policies := packingpolicy.NewInformer(made)
	if err := policies.SetWatchErrorHandlerWithContext(handlePolicyWatchError); err != nil {
		return err
	}
	policyController, err := controller.New(controller.Parts{
		Clock: clock.RealClock{}, Policies: packingpolicy.NewStore(made), Plans: packingplan.NewStore(made),
		Watched: policies, Planned: i.plans, Recorder: handle.EventRecorder(), Leads: lease.Check,
	})
	if err != nil {
		return err
	}
	leadership.Announce(to, func() {
		go policies.RunWithContext(ctx)
		go policyController.Run(ctx)
		go warnOfOldDefinitions(ctx, handle.KubeConfig())
	})
	return nil
}

// handlePolicyWatchError is silent where the resource is not installed: Helm does not add it when a release is upgraded,
// and nobody has a policy then.
func handlePolicyWatchError(ctx context.Context, of *cache.Reflector, err error) {
	if !apierrors.IsNotFound(err) {
		cache.DefaultWatchErrorHandler(ctx, of, err)
	}
}
