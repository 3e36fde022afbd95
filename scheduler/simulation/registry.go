package simulation

import (
	"context"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
)

// withoutOptimizer returns the plugins, with PriorityOptimizer replaced by one that refuses to start. That plugin needs an
// optimiser and a cluster, and runs asynchronously; a simulation has neither, and silently leaving the plugin out of a
// profile would simulate something else.
func withoutOptimizer(plugins frameworkruntime.Registry) frameworkruntime.Registry {
	registry := maps.Clone(plugins)
	if registry == nil {
		registry = frameworkruntime.Registry{}
	}
	registry[priorityoptimizer.Name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
		return nil, errors.New("it moves pods of a running cluster, which a simulation does not have; " +
			"simulate a profile without it")
	}
	return registry
}
