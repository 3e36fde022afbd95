package priorityoptimizer

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "PriorityOptimizer"

// New is the factory the scheduler's registry calls once for each profile.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	return newPlugin(ctx, args, handle)
}
