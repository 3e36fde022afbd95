// Package scorecache is a PreFilter plugin that places equal pods by a ranking of the nodes that was made for the first
// of them, instead of filtering and scoring the nodes again for each.
//
// It is the mechanism of Zhou, Mondal, Cheng and Kabir, "On Optimized Scheduling Scheme for Rapid Pod Autoscaling in
// Kubernetes", Applied Sciences 16(5), 2481, 2026, section 4.2 and Algorithm 1, on an unmodified scheduling framework.
// The paper's words, and where they are here:
//
//   - ScoreKey (4.2.1): podkey.Key, a digest of all fields of a pod that the scheduler reads, in a fixed order.
//   - E_k = (feasibleHash, L, initialN, popped): ranking, one for each Key, made with the profile's own Filter and Score
//     plugins over all nodes.
//   - pop and advance: a node that was assigned is scored again, and the next one becomes the best.
//   - refresh past tau: a ranking is remade once more than refreshThreshold of it is used up.
//   - MaxEntries: the least recently used key is dropped first.
//   - in-flight guard: look-up and remaking are under one lock. (Scheduling cycles are serial anyway.)
//
// # How it acts
//
// The plugin must be the last PreFilter plugin, so that all others have prepared the cycle. On a hit it takes the best
// node of the ranking, runs the profile's real Filter plugins on that node in this cycle's snapshot, and restricts the
// framework to that node. The framework then filters the node itself, as always. If no candidate passes, the plugin does
// nothing and the cycle covers all nodes. It must also be the first PostFilter plugin: if the framework refuses the node
// after all, the pod is tried again on all nodes before another plugin makes room for it on that one, and what is known
// of its key is discarded.
//
// # What differs from the paper
//
//   - The paper filters all nodes for each pod and saves the scoring only. Here the filters are saved too: the snapshot
//     numbers the changes of each node, and a node that changed since the ranking was last used, for whatever reason (a
//     pod of this or another key was assumed, bound, deleted or resized there, or the node itself changed), is filtered
//     and scored again before the next choice. So the feasible set is always current, and needs no feasibleHash. If a
//     refresh finds another set although no node has changed, this is counted, and the key waits longer for its next
//     ranking. A ranking whose scores depend on the feasible nodes as a set, as those of soft topology spread do, is
//     dropped as soon as that set changes, as in the paper.
//   - A node that was popped stays, at its new score. So the choice is the one that scoring all nodes would make, with
//     ties going to the first by name, and not merely the next in an outdated list; with nodes of unequal size or load,
//     plain rotation is worse than the stock scheduler. Soft spread over zones is the exception, see below.
//   - Normalised scores are relative to those of the other nodes. So copies of the nodes with the lowest and the highest
//     score of each such plugin are kept as reference nodes, and scored together with each node that changed: if their
//     totals are no longer the same, the ranking is dropped.
//   - Soft topology spread scores all nodes of a zone together. Of the best nodes of each zone, one is chosen only if its
//     total is no lower and its zone has gained no more pods since, or if its score without spread is no lower and its
//     zone has no more pods. If there is none, only scoring all nodes again can weigh score against spread. Here the
//     choice is not always the one that scoring all nodes would make: each new pod changes the weight of spread on every
//     node, and ties between zones go to the zone with fewer pods, not to the first name. What is guaranteed is that the
//     node is feasible and that the skew is as low as the stock scheduler's, within one pod per zone on the random
//     clusters of the tests. Only pods on nodes that the constraint's inclusion policies admit are counted.
//   - A nomination does not change a node. A node that is refused because of a nominated pod is checked again each time
//     until the nomination has ended.
//   - A ranking costs several stock cycles on a large cluster, where the stock scheduler scores only some of the nodes.
//     That many pods of a key must have come first, and twice as many after each ranking that did not pay off.
//
// # Pods that are not served
//
// Pods that could be placed wrongly or worse get a full scheduling cycle: see the reasons in bypass.go. The cache is also
// off in a profile with plugins that it does not know, unless they are named in trustedPlugins.
//
// The plugin signs no pods, which turns OpportunisticBatching off in its profile: each of the two caches would take the
// other's choice for the result of a full cycle.
package scorecache

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/pluginargs"
	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
	"github.com/stowage/stowage/scheduler/resources"
)

// servedLimit is more than the pods that are between their cycle and their binding, and those that wait after one.
const servedLimit = 10_000

// Plugin is the ScoreCache plugin of one profile.
type Plugin struct {
	args   *Args
	handle fwk.Handle
	book   *resources.Book
	// siblings and features are what a pod's key depends on beside the pod.
	siblings func(*v1.Pod) labels.Selector
	features func(*v1.Pod) (string, error)
	// served are the pods that were recently given a cached node. One that comes again was not bound to it.
	served *lru.Cache
	// profile is read once, when the profile is complete: plugins are made before that.
	profile func() profile

	// mu is the paper's in-flight guard: a caller that comes while a ranking is made waits, and uses it.
	mu      sync.Mutex
	changes nodeChanges
	// entries are the paper's cache, which drops the least recently used key first.
	entries *lru.Cache
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

func (p *Plugin) Name() string { return Name }

// PreFilter restricts the framework to one node, if the cache has one for the pod.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	began := time.Now()
	if reason := p.bypass(state, pod); reason != "" {
		bypassesTotal.WithLabelValues(reason).Inc()
		return nil, nil
	}
	node, made, miss := p.pick(ctx, state, pod, nodes)
	if miss != "" {
		missesTotal.WithLabelValues(miss).Inc()
		return nil, nil
	}
	if !made {
		hitsTotal.Inc()
		pickSeconds.Observe(time.Since(began).Seconds())
	}
	p.served.Add(pod.UID, nil)
	return &fwk.PreFilterResult{NodeNames: sets.New(node)}, nil
}

// PreFilterExtensions returns nil: no decision of PreFilter changes when one pod is added or removed.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PreScore is reached in full scheduling cycles only, and records which filter plugins did not apply.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if e := entryOf(state); e != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		e.skip, e.learnt = state.GetSkipFilterPlugins(), p.changes.epochs
	}
	return fwk.NewStatus(fwk.Skip)
}

// PostFilter at once gives a pod whose cached node was refused a full scheduling cycle. It must be the first PostFilter
// plugin: no other may make room on that node while other nodes are free. Some filter that the cache had skipped refused
// the node, so what is known of the key is discarded.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	e, served := entryOf(state), false
	if e != nil {
		_, served = p.served.Get(pod.UID)
	}
	if !served {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	refusedTotal.Inc()
	p.mu.Lock()
	p.retire(e, causeRefused)
	e.skip = nil // the next pod's full cycle finds them again
	p.mu.Unlock()
	p.handle.Activate(klog.FromContext(ctx), map[string]*v1.Pod{pod.Namespace + "/" + pod.Name: pod})
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageRefused)
}

const messageRefused = "the node found for earlier pods like this one is taken; all nodes are looked at next"

// EventsToRegister names the events after which a refused pod may pass. PostFilter itself activates it.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.All}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.All}},
	}, nil
}

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "ScoreCache"

// New is the factory the scheduler's registry calls once for each profile.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	features, err := podkey.FeaturesOf()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	registerMetrics()
	return &Plugin{
		args: args, handle: handle, book: resources.NewBook(handle, nil),
		siblings: podkey.SiblingsOf(handle.SharedInformerFactory()), features: features,
		served:  lru.New(servedLimit),
		entries: lru.NewWithEvictionFunc(args.MaxEntries, func(lru.Key, any) { evictionsTotal.Inc() }),
		profile: sync.OnceValue(func() profile {
			found := profileOf(handle, args.TrustedPlugins)
			if found.unavailable != "" {
				klog.FromContext(ctx).Error(nil, "The score cache is off", "profile", handle.ProfileName(), "why", found.unavailable)
			}
			return found
		}),
	}, nil
}

// Args are the plugin's arguments in a KubeSchedulerConfiguration.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// RefreshThreshold is the paper's tau: the share of a ranking that may be used up.
	RefreshThreshold float64 `json:"refreshThreshold,omitempty"`
	// MaxEntries is how many keys are kept.
	MaxEntries int `json:"maxEntries,omitempty"`
	// TrustedPlugins are further plugins of the profile whose PreFilter names no nodes, and whose Filter and
	// Score depend on nothing but the node and what makes up a Key.
	TrustedPlugins []string `json:"trustedPlugins,omitempty"`
}

// The chart's values carry the same.
const (
	DefaultRefreshThreshold = 0.5
	DefaultMaxEntries       = 128
)

// maxEntriesLimit keeps the memory in bounds: a ranking of 5,000 nodes takes half a megabyte.
const maxEntriesLimit = 10_000

var argsKind = pluginargs.Kind{Plugin: Name, APIVersion: "stowage.dev/v1alpha1", Kind: "ScoreCacheArgs"}

// DecodeArgs reads the plugin's arguments strictly. The result is defaulted and valid.
func DecodeArgs(object runtime.Object) (*Args, error) {
	args := &Args{RefreshThreshold: DefaultRefreshThreshold, MaxEntries: DefaultMaxEntries}
	return args, argsKind.Decode(object, args, &args.TypeMeta, args.validate)
}

func (a *Args) validate() field.ErrorList {
	var errs field.ErrorList
	if threshold := a.RefreshThreshold; math.IsNaN(threshold) || threshold <= 0 || threshold > 1 {
		errs = append(errs, field.Invalid(field.NewPath("refreshThreshold"), threshold,
			"must be more than 0 and at most 1"))
	}
	if entries := a.MaxEntries; entries < 1 || entries > maxEntriesLimit {
		errs = append(errs, field.Invalid(field.NewPath("maxEntries"), entries,
			fmt.Sprintf("must lie between 1 and %d", maxEntriesLimit)))
	}
	for i, plugin := range a.TrustedPlugins {
		if plugin == "" {
			errs = append(errs, field.Required(field.NewPath("trustedPlugins").Index(i), "name a plugin"))
		}
	}
	return errs
}
