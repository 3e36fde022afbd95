// Package reservations is the scheduler plugin that keeps the room of Reservation objects free for their owners, and
// the room of plans free for their pods.
//
//  1. PreFilter looks up what is reserved: for the pod, and against it.
//  2. Filter keeps a pod out of room that is held for others, unless its priority is higher than
//     the reservation's.
//  3. Score prefers nodes with more room reserved for the pod.
//  4. Reserve takes from the reservation that is filled most, Unreserve gives it back. PriorityOptimizer must come first:
//     it gives the pods of a plan their places.
//  5. Bind records in the pod what it took, in the same request as the binding, so that the ledger can
//     be rebuilt at any time. It binds only while the process leads, and must come before DefaultBinder.
//
// Where nothing is reserved, none of them does anything. A rejected pod is activated when room comes free on a node
// that was refused to it.
package reservations

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/cachebypass"
	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/pluginargs"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/waiting"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "Reservations"

const reasonReserved = waiting.Reason("the room that is free is reserved for others")

// Plugin is the Reservations plugin of one profile.
type Plugin struct {
	Args *Args

	handle fwk.Handle
	book   *resources.Book
	ledger *reservation.Ledger
	// arrivals binds the pods of plans, with a rate limit of its own: plans must not slow down other pods, nor other
	// pods the plans. It is nil where no pods are bound.
	arrivals clientset.Interface
	// rehearsal is set where plans are only tried.
	rehearsal bool
	// lease is nil where no other process can lead.
	lease atomic.Pointer[leadership.Lease]

	// waiting are the pods that found no node, and were refused one because of what is reserved there.
	waiting waiting.Table
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin       = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.BindPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
)

// New returns the plugin of one profile, with the ledger and the catalogue of devices that all profiles share. In a rehearsal
// no pods wait, and the room of plans does not count.
func New(
	object runtime.Object, handle fwk.Handle, ledger *reservation.Ledger, devices *resources.Catalogue, rehearsal bool,
) (*Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	if err := devices.Connect(handle); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	p := &Plugin{waiting: waiting.Table{Clock: clock.RealClock{}}, Args: args, handle: handle,
		book: resources.NewBook(handle, devices), ledger: ledger, rehearsal: rehearsal}
	if config := handle.KubeConfig(); config != nil && !rehearsal {
		own := rest.CopyConfig(config)
		own.RateLimiter = nil
		if p.arrivals, err = clientset.NewForConfig(own); err != nil {
			return nil, fmt.Errorf("%s: making a client for the arrivals of plans: %w", Name, err)
		}
	}
	return p, nil
}

// Attach hands over the lease that the process must hold to bind pods.
func (p *Plugin) Attach(lease *leadership.Lease) { p.lease.Store(lease) }

const stateKey = fwk.StateKey(Name)

// state is what a scheduling cycle knows; there is none where nothing is reserved.
type state struct {
	view *reservation.View
	// needs is what the pod needs, where room is held against it.
	needs resources.Vector
	// sharesDevices: the pod asks for devices that pods share or that overlap.
	sharesDevices bool
	taken         *reservation.Taken

	mu sync.Mutex
	// refused are nodes that were refused, no more than it takes to know that they are too many to remember.
	refused sets.Set[string]
}

// Clone returns the state itself: what is added to it holds for all clones.
func (s *state) Clone() fwk.StateData { return s }

func (p *Plugin) Name() string { return Name }

// SignPod lets the scheduler reuse results among equal pods as long as nothing is reserved.
func (p *Plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if p.ledger.Empty() {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "what is reserved depends on the pod")
}

// PreFilter looks up what is reserved. If no room is held against the pod, Filter is skipped.
func (p *Plugin) PreFilter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	p.waiting.Remove(pod.UID)
	if p.ledger.Empty() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	found := &state{view: p.ledger.For(pod, p.rehearsal), refused: sets.New[string]()}
	cycle.Write(stateKey, found)
	restricted := found.view.IsRestricted()
	if restricted || len(found.view.Offers) > 0 {
		cachebypass.Require(cycle)
	}
	if !restricted {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	p.read(found, pod)
	return nil, nil
}

// PreFilterExtensions returns nil: what is reserved does not change with other pods.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter keeps the pod out of what is held against it.
func (p *Plugin) Filter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	found := stateOf(cycle)
	if found == nil || p.hasRoomBeside(found, pod, node) {
		return nil
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	if len(found.refused) == 0 && pod.Spec.SchedulingGroup != nil && !p.rehearsal {
		p.waiting.Put(pod, reasonReserved, nil) // PostFilter is not asked about pods of a group
	}
	if len(found.refused) <= waiting.MaxNodes {
		found.refused.Insert(node.Node().Name)
	}
	return fwk.NewStatus(fwk.Unschedulable, string(reasonReserved))
}

// read reads what the pod needs.
func (p *Plugin) read(into *state, pod *v1.Pod) {
	into.needs, into.sharesDevices = p.book.Needs(pod), len(p.book.Requests(pod)) > 0
}

func (p *Plugin) hasRoomBeside(found *state, pod *v1.Pod, node fwk.NodeInfo) bool {
	held, some := found.view.Held(node.Node().Name)
	return !some || found.needs.FitsIn(p.book.FreeFor(pod, node).Minus(held)) &&
		(!found.sharesDevices || !found.view.AwaitsTurns(node.Node().Name))
}

// PostFilter remembers a pod that may find a node once the reservations have changed. It makes no room.
func (p *Plugin) PostFilter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if found := stateOf(cycle); found != nil && !p.rehearsal {
		found.mu.Lock()
		refused := found.refused.Clone() // preemption, which comes later, calls Filter again
		found.mu.Unlock()
		if len(refused) > 0 {
			p.waiting.Put(pod, reasonReserved, refused)
		}
	}
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// PreScore skips Score if no node has anything reserved for the pod.
func (p *Plugin) PreScore(_ context.Context, cycle fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if found := stateOf(cycle); found == nil || len(found.view.Offers) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// Score is the amount reserved for the pod on the node, in thousandths of the node.
func (p *Plugin) Score(_ context.Context, cycle fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	found := stateOf(cycle)
	if found == nil {
		return 0, nil
	}
	var left resources.Vector
	for _, offer := range found.view.Offers[node.Node().Name] {
		left = left.Plus(offer.Left)
	}
	return int64(1000 * left.ShareOf(p.book.Capacity(node.Node()))), nil
}

// ScoreExtensions returns the plugin: scores are relative to the best.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore gives the node with the most reserved room the highest score, and none to the
// nodes without.
func (p *Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return helper.DefaultNormalizeScore(fwk.MaxScore, false, scores)
}

// Reserve takes from a reservation if there is one for the pod. If what is held has changed since PreFilter, so that the
// pod no longer fits, the pod is rejected. While the scheduler tries a pod group nothing is taken; it reserves for its pods
// again when it has decided.
func (p *Plugin) Reserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if p.ledger.Empty() || cycle.IsPodGroupSchedulingCycle() {
		return nil
	}
	now := &state{view: p.ledger.For(pod, p.rehearsal)}
	if _, some := now.view.Held(node); some {
		info, err := p.handle.SnapshotSharedLister().NodeInfos().Get(node)
		if err != nil {
			return fwk.AsStatus(err)
		}
		p.read(now, pod)
		if !p.hasRoomBeside(now, pod, info) {
			p.waiting.Put(pod, reasonReserved, sets.New(node))
			return fwk.NewStatus(fwk.Unschedulable, string(reasonReserved))
		}
	}
	if taken, some := p.ledger.Take(pod, node); some {
		now.taken = &taken
		cycle.Write(stateKey, now)
	}
	return nil
}

// Unreserve gives back what was taken.
func (p *Plugin) Unreserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ string) {
	if cycle.IsPodGroupSchedulingCycle() {
		return
	}
	p.ledger.Release(pod.UID)
	if found := stateOf(cycle); found != nil {
		found.taken = nil
	}
}

// Watch lets the plugin forget the pods that another process has bound, or that are gone.
func (p *Plugin) Watch(pods cache.SharedIndexInformer) error {
	store := pods.GetStore()
	p.waiting.Waits = func(pod *v1.Pod) bool {
		object, there, err := store.Get(pod)
		now, ok := object.(*v1.Pod)
		return err != nil || there && ok && now.UID == pod.UID && now.Spec.NodeName == ""
	}
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*v1.Pod); ok && pod.Spec.NodeName != "" {
				p.waiting.Remove(pod.UID)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := customobject.LastKnown(object).(*v1.Pod); ok {
				p.waiting.Remove(pod.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("%s: watching pods: %w", Name, err)
	}
	return nil
}

// Freed activates the pods that were refused one of the nodes: there may be room for them now. It must be called without
// any lock, since the scheduling queue calls plugins back.
func (p *Plugin) Freed(nodes sets.Set[string]) {
	if pods := p.waiting.Refused(nodes); len(pods) > 0 {
		p.handle.Activate(klog.Background(), pods)
	}
}

// EventsToRegister names the events after which a rejected pod may pass. The plugin itself activates pods after changes
// of reservations.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable}},
	}, nil
}

func stateOf(cycle fwk.CycleState) *state {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil
	}
	found, _ := data.(*state)
	return found
}

// Args are the plugin's arguments in a KubeSchedulerConfiguration.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// RetentionSeconds is how long a reservation that failed is kept.
	RetentionSeconds float64 `json:"retentionSeconds,omitempty"`
}

// DefaultRetentionSeconds is a day. The chart's values carry the same.
const DefaultRetentionSeconds = 86400.0

const maxRetentionSeconds = 30 * 86400.0

var argsKind = pluginargs.Kind{Plugin: Name, APIVersion: "stowage.dev/v1alpha1", Kind: "ReservationsArgs"}

// DecodeArgs reads the plugin's arguments strictly. The result is defaulted and valid.
func DecodeArgs(object runtime.Object) (*Args, error) {
	args := &Args{RetentionSeconds: DefaultRetentionSeconds}
	return args, argsKind.Decode(object, args, &args.TypeMeta, func() (errs field.ErrorList) {
		if retention := args.RetentionSeconds; math.IsNaN(retention) || retention < 0 || retention > maxRetentionSeconds {
			errs = append(errs, field.Invalid(field.NewPath("retentionSeconds"), retention, "must lie between 0 and 30 days"))
		}
		return errs
	})
}
