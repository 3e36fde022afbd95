package reservations

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/reuse"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "Reservations"

const messageHeld = "the room that is free is reserved for others"

// Plugin is the Reservations plugin of one profile.
type Plugin struct {
	Args *Args

	handle fwk.Handle
	ledger *reservation.Ledger
	// rehearsal is set where plans are only tried.
	rehearsal bool
	// lease is nil where no other process can lead.
	lease atomic.Pointer[leadership.Lease]

	mu sync.Mutex
	// kept are the pods that were turned away.
	kept map[types.UID]*v1.Pod
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin       = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.BindPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
)

// New returns the plugin of one profile, with the books that all profiles share. In a rehearsal
// nobody waits, and the rooms of plans do not count.
func New(object runtime.Object, handle fwk.Handle, ledger *reservation.Ledger, rehearsal bool) (*Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	return &Plugin{Args: args, handle: handle, ledger: ledger, rehearsal: rehearsal, kept: map[types.UID]*v1.Pod{}}, nil
}

// Attach hands over the lease without which nobody may be bound.
func (p *Plugin) Attach(lease *leadership.Lease) { p.lease.Store(lease) }

const stateKey = fwk.StateKey(Name)

// state is what PreFilter found out.
type state struct {
	held   map[string]resources.Vector
	offers map[string][]reservation.Offer
	taken  *reservation.Taken
}

// Clone returns the state itself: only Reserve writes to it, once.
func (s *state) Clone() fwk.StateData { return s }

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// SignPod lets the scheduler treat equal pods alike as long as nothing is reserved.
func (p *Plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if p.ledger.Empty() {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "what is reserved depends on the pod")
}

// PreFilter looks up what is reserved. Where nothing is held against the pod, no node need be asked.
func (p *Plugin) PreFilter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	p.forget(pod.UID)
	found := &state{held: p.ledger.Held(pod, p.rehearsal), offers: p.ledger.Offers(pod)}
	cycle.Write(stateKey, found)
	if len(found.held) > 0 || len(found.offers) > 0 {
		reuse.Forbid(cycle, Name)
	}
	if len(found.held) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreFilterExtensions returns nil: what is reserved does not change with other pods.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter keeps the pod out of what is held against it.
func (p *Plugin) Filter(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	found, err := stateOf(cycle)
	if err != nil {
		return fwk.AsStatus(err)
	}
	held, some := found.held[node.Node().Name]
	if !some || resources.OfPod(pod).FitsIn(resources.FreeOn(node).Minus(held)) {
		return nil
	}
	p.keep(pod)
	return fwk.NewStatus(fwk.Unschedulable, messageHeld)
}

// PreScore spares the nodes the question what they have reserved for the pod, where none has anything.
func (p *Plugin) PreScore(_ context.Context, cycle fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	found, err := stateOf(cycle)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(found.offers) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// Score is the amount reserved for the pod on the node, in thousandths of the node.
func (p *Plugin) Score(_ context.Context, cycle fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	found, err := stateOf(cycle)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	var left resources.Vector
	for _, offer := range found.offers[node.Node().Name] {
		left = left.Plus(offer.Left)
	}
	return int64(1000 * left.ShareOf(resources.OfList(node.Node().Status.Allocatable))), nil
}

// ScoreExtensions returns the plugin: scores are relative to the best.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore gives the node with the most reserved room the highest score, and none to the
// nodes without.
func (p *Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	most := int64(0)
	for _, score := range scores {
		most = max(most, score.Score)
	}
	for i := range scores {
		if most > 0 {
			scores[i].Score = scores[i].Score * fwk.MaxScore / most
		}
	}
	return nil
}

// Reserve takes from a reservation if there is one for the pod. What is held may have changed
// since PreFilter looked: then the pod is sent back.
func (p *Plugin) Reserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	found, err := stateOf(cycle)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if held, some := p.ledger.Held(pod, p.rehearsal)[node]; some {
		info, err := p.handle.SnapshotSharedLister().NodeInfos().Get(node)
		if err != nil {
			return fwk.AsStatus(err)
		}
		if !resources.OfPod(pod).FitsIn(resources.FreeOn(info).Minus(held)) {
			p.keep(pod)
			return fwk.NewStatus(fwk.Unschedulable, messageHeld)
		}
	}
	if taken, some := p.ledger.Take(pod, node); some {
		found.taken = &taken
	}
	return nil
}

// Unreserve gives back what was taken.
func (p *Plugin) Unreserve(_ context.Context, cycle fwk.CycleState, pod *v1.Pod, _ string) {
	p.ledger.Release(pod.UID)
	if found, err := stateOf(cycle); err == nil {
		found.taken = nil
	}
	p.Changed()
}

// EventsToRegister names what may let a pod pass that was turned away. Changes of reservations
// wake pods up by themselves.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable}},
	}, nil
}

// Changed wakes up who was turned away: what is reserved has changed. It must be called without
// any lock, since the scheduling queue asks back.
func (p *Plugin) Changed() {
	p.mu.Lock()
	pods := make(map[string]*v1.Pod, len(p.kept))
	for uid, pod := range p.kept {
		pods[string(uid)] = pod
	}
	p.mu.Unlock()
	if len(pods) > 0 {
		p.handle.Activate(klog.Background(), pods)
	}
}

func (p *Plugin) keep(pod *v1.Pod) {
	if p.rehearsal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[pod.UID] = pod
}

// forget drops a pod that passed, or is gone.
func (p *Plugin) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.kept, uid)
}

func stateOf(cycle fwk.CycleState) (*state, error) {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil, err
	}
	found, ok := data.(*state)
	if !ok {
		return nil, fmt.Errorf("the cycle's state of %s is a %T", Name, data)
	}
	return found, nil
}
