// Package rehearsal tries a plan with the plugins of a profile, outside the scheduler's own cycles
// and without any effect on them.
//
// A Framework is a second instance of the profile's plugins, on its own snapshot, which is taken
// from the scheduler's cache and includes pods whose binding is under way. Plugins that this project
// does not know are among them: no filter is implemented a second time.
//
// Replay carries a plan out on copies of the nodes, as preemption's dry run does, in the order
// in which the executor will.
package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/resources"
)

// Cache is the scheduler's cache of the cluster.
type Cache interface {
	UpdateSnapshot(logger klog.Logger, snapshot *cache.Snapshot) error
}

// Framework is a second instance of one profile's plugins. It is safe for concurrent use.
type Framework struct {
	cache     Cache
	framework framework.Framework
	book      *resources.Book
	catalogue *resources.Catalogue

	mu       sync.Mutex
	snapshot *cache.Snapshot
	lister   *switchableLister
	devices  *deviceManager
}

// Profile is what a framework is built from.
type Profile struct {
	// Original is the profile's framework in the scheduler, whose informers are shared.
	Original framework.Framework
	// Configuration is what that one was built from.
	Configuration config.KubeSchedulerProfile
	// OutOfTree makes the plugins that are not Kubernetes' own.
	OutOfTree frameworkruntime.Registry
	// Without are the plugins that are left out, because they act on their own.
	Without []string
	// Devices is the catalogue of the process; nil: no devices are counted.
	Devices *resources.Catalogue
}

// NewFramework builds a second instance of the profile's plugins.
func NewFramework(ctx context.Context, of Profile, known Cache) (*Framework, error) {
	registry := frameworkplugins.NewInTreeRegistry()
	if err := registry.Merge(of.OutOfTree); err != nil {
		return nil, fmt.Errorf("rehearsing profile %s: %w", of.Configuration.SchedulerName, err)
	}
	snapshot := cache.NewEmptySnapshot()
	seen := &switchableLister{snapshot}
	devices := &deviceManager{SharedDRAManager: of.Original.SharedDRAManager()}
	var shown fwk.SharedDRAManager // nil where the scheduler allocates no devices
	if devices.SharedDRAManager != nil {
		devices.keepPlugin(registry)
		shown = devices
	}
	options := append(minor.SnapshotOptions(snapshot),
		frameworkruntime.WithClientSet(of.Original.ClientSet()),
		frameworkruntime.WithKubeConfig(of.Original.KubeConfig()),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}), // drops them
		frameworkruntime.WithInformerFactory(of.Original.SharedInformerFactory()),
		frameworkruntime.WithSharedDRAManager(shown),
		frameworkruntime.WithSharedCSIManager(of.Original.SharedCSIManager()),
		frameworkruntime.WithSnapshotSharedLister(seen),
		frameworkruntime.WithExtenders(of.Original.Extenders()),
		frameworkruntime.WithPodGroupManager(of.Original.PodGroupManager()),
		frameworkruntime.WithPodNominator(of.Original),
		frameworkruntime.WithPodActivator(noActivator{}),
	)
	built, err := frameworkruntime.NewFramework(ctx, registry, without(of.Configuration, of.Without), options...)
	if err != nil {
		return nil, fmt.Errorf("rehearsing profile %s: %w", of.Configuration.SchedulerName, err)
	}
	return &Framework{cache: known, framework: built, book: resources.NewBook(built, of.Devices), catalogue: of.Devices,
		snapshot: snapshot, lister: seen, devices: devices}, nil
}

// update reads the devices as they are now, and takes a new snapshot; the caller holds the lock.
func (f *Framework) update(ctx context.Context) error {
	f.catalogue.Refresh()
	return f.takeSnapshot(ctx)
}

func (f *Framework) takeSnapshot(ctx context.Context) error {
	return f.cache.UpdateSnapshot(klog.FromContext(ctx), f.snapshot)
}

// show has the plugins see the cluster copy, until showScheduler has them see the scheduler's snapshot again.
func (f *Framework) show(cluster *clusterCopy) error {
	claims, err := f.devices.newClaims()
	if err != nil {
		return err
	}
	f.lister.SharedLister, f.devices.claims, cluster.claims = cluster, claims, claims
	return nil
}

func (f *Framework) showScheduler() { f.lister.SharedLister, f.devices.claims = f.snapshot, nil }

// without is the profile less some of its plugins.
func without(profile config.KubeSchedulerProfile, names []string) *config.KubeSchedulerProfile {
	reduced := profile.DeepCopy()
	// Plugins add indices to the informers that they share with the scheduler, by this name.
	reduced.SchedulerName += "-rehearsal"
	if reduced.Plugins == nil {
		return reduced
	}
	plugins := reduced.Plugins
	for _, set := range append(minor.GroupPluginSets(plugins),
		&plugins.MultiPoint, &plugins.PreEnqueue, &plugins.QueueSort, &plugins.PreFilter, &plugins.Filter,
		&plugins.PostFilter, &plugins.PreScore, &plugins.Score, &plugins.Reserve, &plugins.Permit,
		&plugins.PreBind, &plugins.Bind, &plugins.PostBind) {
		set.Enabled = slices.DeleteFunc(set.Enabled, func(one config.Plugin) bool { return slices.Contains(names, one.Name) })
	}
	reduced.PluginConfig = slices.DeleteFunc(reduced.PluginConfig, func(one config.PluginConfig) bool {
		return slices.Contains(names, one.Name)
	})
	return reduced
}

// noActivator activates no pods: a rehearsal has no effect on the queue.
type noActivator struct{}

func (noActivator) Activate(klog.Logger, map[string]*v1.Pod) {}

var _ fwk.PodActivator = noActivator{}
