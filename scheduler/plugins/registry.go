package plugins

import (
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
)

// Registry returns every plugin of Stowage by name. The scheduler and simulate both build on it.
func Registry() runtime.Registry {
	return runtime.Registry{
		lexicographicorder.Name: lexicographicorder.New,
		priorityoptimizer.Name:  priorityoptimizer.New,
	}
}
