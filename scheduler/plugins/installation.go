package plugins

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/devices"
	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/plugins/reservations"
	"github.com/stowage/stowage/scheduler/plugins/scorecache"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// Installation is Stowage's plugins in one scheduler process. The scheduler makes plugins before it is complete itself;
// Attach hands over what they need of the complete one.
type Installation struct {
	ledger  *reservation.Ledger
	devices *resources.Catalogue
	// others are the plugins of the program that embeds the scheduler, which rehearsals need as well.
	others frameworkruntime.Registry

	mu sync.Mutex
	// plans shows the PackingPlans to all plugins that need them; nil before the first one does.
	plans      cache.SharedIndexInformer
	optimizers map[string]*priorityoptimizer.Plugin
	reserving  map[string]*reservations.Plugin
}

// NewInstallation returns an installation without any profile yet.
func NewInstallation() *Installation {
	return &Installation{
		ledger:     reservation.NewLedger(),
		devices:    resources.NewCatalogue(),
		optimizers: map[string]*priorityoptimizer.Plugin{},
		reserving:  map[string]*reservations.Plugin{},
	}
}

// Registry returns every plugin of Stowage by name, for the scheduler that Attach is then called with.
func (i *Installation) Registry() frameworkruntime.Registry {
	registry := registryWith(i.ledger, i.devices)
	registry[priorityoptimizer.Name] = i.newOptimizer
	registry[reservations.Name] = i.newReserving
	return registry
}

func (i *Installation) newOptimizer(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	plans, err := i.plansOf(handle)
	if err != nil {
		return nil, err
	}
	plugin, err := priorityoptimizer.New(ctx, args, handle, plans, i.ledger, i.devices)
	if optimizer, made := plugin.(*priorityoptimizer.Plugin); made && err == nil {
		i.optimizers[handle.ProfileName()] = optimizer
	}
	return plugin, err
}

// plansOf is the one watch of PackingPlans that the process has, for the holder of the lock; nil if the profile has no
// API server.
func (i *Installation) plansOf(handle fwk.Handle) (cache.SharedIndexInformer, error) {
	if i.plans != nil || handle.KubeConfig() == nil {
		return i.plans, nil
	}
	made, err := client(handle)
	if err != nil {
		return nil, err
	}
	i.plans = packingplan.NewInformer(made)
	return i.plans, nil
}

func (i *Installation) newReserving(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	plugin, err := reservations.New(args, handle, i.ledger, i.devices, false)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reserving[handle.ProfileName()] = plugin
	return plugin, nil
}

// Attach completes the plugins of a scheduler that was built with the installation's registry. It must be
// called before the scheduler runs; until then no plan is made and nothing is reserved. The lease is nil
// where no other process can lead.
func (i *Installation) Attach(
	ctx context.Context, to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile, lease *leadership.Lease,
) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	rehearsers := map[string]*rehearsal.Framework{}
	registry := registryWith(i.ledger, i.devices)
	if err := registry.Merge(i.others); err != nil {
		return fmt.Errorf("attaching the plugins: %w", err)
	}
	for _, profile := range profiles {
		name := profile.SchedulerName
		if i.optimizers[name] == nil && i.reserving[name] == nil {
			continue
		}
		if err := checkOrder(to.Profiles[name].ListPlugins().Reserve); err != nil {
			return fmt.Errorf("profile %s: %w", name, err)
		}
		rehearser, err := rehearsal.NewFramework(ctx, rehearsal.Profile{
			Original: to.Profiles[name], Configuration: profile,
			OutOfTree: registry, Without: []string{priorityoptimizer.Name, scorecache.Name, devices.Name},
			Devices: i.devices,
		}, to.Cache)
		if err != nil {
			return fmt.Errorf("attaching the plugins of profile %s: %w", name, err)
		}
		rehearsers[name] = rehearser
	}
	if err := i.startReservations(ctx, to, profiles, rehearsers); err != nil {
		return err
	}
	if err := i.startPolicies(ctx, to, profiles, lease); err != nil {
		return fmt.Errorf("attaching the controller of policies: %w", err)
	}
	if i.plans != nil {
		go i.plans.RunWithContext(ctx)
	}
	leadership.Announce(to, func() { go lease.BelongToAccount(ctx) })
	for _, plugin := range i.reserving {
		plugin.Attach(lease)
	}
	for name, plugin := range i.optimizers {
		plugin.Attach(rehearsers[name], lease)
		plugin.HandleFailures(to)
		leadership.Announce(to, plugin.StartLeading)
	}
	return nil
}

// checkOrder refuses a profile in which Reservations would ask for a pod's place before PriorityOptimizer has given it one:
// the pod would be bound without the annotation by which other processes know that it has taken its place of the plan.
func checkOrder(reserve config.PluginSet) error {
	place := func(name string) int {
		return slices.IndexFunc(reserve.Enabled, func(one config.Plugin) bool { return one.Name == name })
	}
	if first := place(reservations.Name); first >= 0 && first < place(priorityoptimizer.Name) {
		return fmt.Errorf("%s reserves before %s, and would not know the pods of a plan: list %[2]s before %[1]s",
			reservations.Name, priorityoptimizer.Name)
	}
	return nil
}

// client talks to the kinds of objects that Kubernetes does not know. It has a rate limit of its own.
func client(of fwk.Handle) (dynamic.Interface, error) {
	made, err := dynamic.NewForConfig(of.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("making a client for reservations and plans: %w", err)
	}
	return made, nil
}

// Registry returns every plugin of Stowage by name, for a scheduler in which nothing is reserved and no plan is made.
func Registry() frameworkruntime.Registry { return registryWith(reservation.NewLedger(), nil) }

// registryWith returns them with the given ledger and catalogue, as they are in rehearsals.
func registryWith(ledger *reservation.Ledger, catalogue *resources.Catalogue) frameworkruntime.Registry {
	return frameworkruntime.Registry{
		devices.Name:            devices.New,
		lexicographicorder.Name: lexicographicorder.New,
		priorityoptimizer.Name: func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return priorityoptimizer.New(ctx, args, handle, nil, ledger, catalogue)
		},
		reservations.Name: func(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return reservations.New(args, handle, ledger, catalogue, true)
		},
		scorecache.Name: scorecache.New,
	}
}
