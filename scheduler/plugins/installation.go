package plugins

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/rehearsal"
)

// Installation is Stowage's plugins in one scheduler process. The scheduler makes plugins before
// it is complete itself; what they need of the complete one is handed over by Attach.
type Installation struct {
	mu         sync.Mutex
	optimizers map[string]*priorityoptimizer.Plugin
}

// NewInstallation returns an installation without any profile yet.
func NewInstallation() *Installation {
	return &Installation{optimizers: map[string]*priorityoptimizer.Plugin{}}
}

// Registry returns every plugin of Stowage by name, for the scheduler that Attach is then called with.
func (i *Installation) Registry() frameworkruntime.Registry {
	registry := Registry()
	registry[priorityoptimizer.Name] = i.newOptimizer
	return registry
}

func (i *Installation) newOptimizer(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	plugin, err := priorityoptimizer.New(ctx, args, handle)
	if optimizer, made := plugin.(*priorityoptimizer.Plugin); made && err == nil {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.optimizers[handle.ProfileName()] = optimizer
	}
	return plugin, err
}

// Attach completes the plugins of a scheduler that was built with the installation's registry. It must be
// called before the scheduler runs; until then no plan is made.
func (i *Installation) Attach(ctx context.Context, to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, profile := range profiles {
		plugin := i.optimizers[profile.SchedulerName]
		if plugin == nil {
			continue
		}
		stage, err := rehearsal.NewStage(ctx, rehearsal.Profile{
			Original: to.Profiles[profile.SchedulerName], Configuration: profile,
			OutOfTree: Registry(), Without: []string{priorityoptimizer.Name},
		}, to.Cache)
		if err != nil {
			return fmt.Errorf("attaching %s: %w", priorityoptimizer.Name, err)
		}
		plugin.Attach(stage)
		leadership.Announce(to, plugin.Lead)
	}
	return nil
}
