package plugins

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingpolicy"
	"github.com/stowage/stowage/scheduler/packingpolicy/controller"
)

// lookAgain is how often the scheduler looks whether PackingPolicies have been installed. Helm does not add the CRDs of
// a later release, so they may never be.
const lookAgain = time.Minute

// startPolicies has the policies looked after as soon as the process leads, unless no profile makes plans, or there is no
// API server.
func (i *Installation) startPolicies(
	ctx context.Context, to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile, lease *leadership.Lease,
) error {
	for _, profile := range profiles {
		handle := to.Profiles[profile.SchedulerName]
		if i.optimizers[profile.SchedulerName] == nil || handle.KubeConfig() == nil || i.plans == nil {
			continue
		}
		made, err := client(handle)
		if err != nil {
			return err
		}
		from := packingpolicy.NewInformer(made)
		policies, err := controller.New(controller.Parts{Clock: clock.RealClock{}, Client: made, Policies: from,
			Plans: i.plans, Recorder: handle.EventRecorder(), Lease: lease})
		if err != nil {
			return fmt.Errorf("attaching packing policies: %w", err)
		}
		leadership.Announce(to, func() {
			go func() {
				if awaitPolicies(ctx, made) {
					go from.RunWithContext(ctx)
					policies.Run(ctx)
				}
			}()
		})
		return nil
	}
	return nil
}

// awaitPolicies waits until the API server knows PackingPolicies. It reports false if the context ends first.
func awaitPolicies(ctx context.Context, client dynamic.Interface) bool {
	said := false
	err := wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(packingpolicy.Resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil && !said {
			said = true
			klog.FromContext(ctx).Info("Packing policies are not looked after; is their CRD installed?", "reason", err.Error())
		}
		return err == nil, nil
	})
	return err == nil
}
