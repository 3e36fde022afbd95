package plugins

import (
	"context"
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/leadership"
)

// Embed is for programs that make a scheduler of their own by scheduler.New: it has one made with Stowage's plugins and
// returns it with all of them attached, ready to be run. newScheduler passes the options on to scheduler.New after those
// of the program, whose other plugins are given here. The lease is nil where no other process can lead.
func Embed(
	ctx context.Context, others frameworkruntime.Registry, lease *leadership.Lease,
	newScheduler func(...scheduler.Option) (*scheduler.Scheduler, error),
) (*scheduler.Scheduler, error) {
	installation := NewInstallation()
	installation.others = others
	registry := installation.Registry()
	if err := registry.Merge(others); err != nil {
		return nil, fmt.Errorf("registering Stowage's plugins: %w", err)
	}
	// As they are once the defaults are set, which the program need not know.
	var profiles []config.KubeSchedulerProfile
	made, err := newScheduler(
		scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithBuildFrameworkCapturer(func(built config.KubeSchedulerProfile) { profiles = append(profiles, built) }),
	)
	if err != nil {
		return nil, err
	}
	return made, installation.Attach(ctx, made, profiles, lease)
}
