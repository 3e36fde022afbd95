package priorityoptimizer

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "PriorityOptimizer"

// New returns the plugin of one profile. plans shows the PackingPlans to all profiles, and the caller runs it; it is nil
// where there is no API server.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle, plans cache.SharedIndexInformer) (fwk.Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	return newPlugin(ctx, args, handle, plans)
}
