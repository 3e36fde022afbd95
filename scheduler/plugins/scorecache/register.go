package scorecache

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "ScoreCache"

// New is the factory the scheduler's registry calls once for each profile.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	features, err := podkey.NewFeatures()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	registerMetrics()
	return &Plugin{
		args: args, handle: handle, owners: podkey.NewOwners(handle.SharedInformerFactory()), features: features,
		served: newServedPods(), entries: newEntries(*args.MaxEntries),
		profile: sync.OnceValue(func() profile {
			found := profileOf(handle, args.TrustedPlugins)
			if found.unavailable != "" {
				klog.FromContext(ctx).Error(nil, "The score cache is off", "profile", handle.ProfileName(), "why", found.unavailable)
			}
			return found
		}),
	}, nil
}
