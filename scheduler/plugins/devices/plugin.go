// Package devices is a Score plugin that places pods where they leave the most use of the devices that are left: GPUs and
// others, whether claims ask for them or extended resources.
//
// A node costs what the fragmentation of its devices grows by, and the price of what the pod takes there. Fragmentation is
// that of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
// USENIX ATC 2023. Prices are near the duals of a linear program that fills the cluster with pods as they have come lately.
// docs/explanation/device-score.md has the formula.
//
// Pods without devices are scored as well, wherever pods ask for devices: CPU that they take beside idle devices is what
// strands these most. As long as no pod has asked for a device that some node has, the plugin skips itself.
//
// The plugin signs no pods, which turns OpportunisticBatching off in its profile: the next pod's costs depend on the last.
package devices

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	// changedMix is the share of the pods in the window by which the mix must differ before costs are measured anew, and
	// lookedAt that of new pods after which this is looked at.
	changedMix, lookedAt = 0.1, 0.05
	// gatherings is how often it is tried to read what is allocated.
	gatherings = 100
	// mostKinds is of nodes that are told apart by their CPU and memory as well as by their devices.
	mostKinds = 64
	// mostClasses are the classes of pods, those with most pods, that costs are measured by.
	mostClasses = 512
)

// Plugin is the Devices plugin of one profile.
type Plugin struct {
	handle fwk.Handle

	arrivedMu sync.Mutex
	// arrived are the pods that have come since the last cycle.
	arrived []*v1.Pod

	// mu is for the rest, which only scheduling cycles read; those of a profile do not overlap.
	mu      sync.Mutex
	classes *classes
	fleet   *fleet
	// model is nil before the first cycle with devices.
	model *model
	kinds map[string]int
	// needs are what the model's classes need, with all asks by the fleet's sorts.
	needs map[*class]*need
	// mixed is the mix of the model, and added the number of pods since it was looked at.
	mixed     map[*class]float64
	added     int
	allocated *structured.AllocatedState
	nodes     map[string]*entry
}

// entry is a node as it was in the last cycle, and what is known of it as long as it stays so.
type entry struct {
	node  *v1.Node
	room  room
	value float64
	costs map[*class]int64
}

var (
	_ fwk.PreScorePlugin  = &Plugin{}
	_ fwk.ScorePlugin     = &Plugin{}
	_ fwk.ScoreExtensions = &Plugin{}
)

// New is the factory the scheduler's registry calls once for each profile.
func New(_ context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := Decode(object)
	if err != nil {
		return nil, err
	}
	p := &Plugin{handle: handle, classes: newClasses(int(args.WindowPods)), fleet: newFleet(), nodes: map[string]*entry{}}
	_, err = handle.SharedInformerFactory().Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if pod, is := object.(*v1.Pod); is && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
				p.arrivedMu.Lock()
				defer p.arrivedMu.Unlock()
				p.arrived = append(p.arrived, pod)
			}
		},
	})
	return p, err
}

func (p *Plugin) Name() string { return Name }

// cycle is what Score needs to know in a scheduling cycle.
type cycle struct {
	model *model
	class *class
	need  *need
	nodes map[string]*entry
}

func (c *cycle) Clone() fwk.StateData { return c }

const cycleKey = fwk.StateKey(Name)

// PreScore brings what is known of pods, devices and nodes up to date.
func (p *Plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	manager := p.handle.SharedDRAManager()
	var claims fwk.ResourceClaimTracker
	if manager != nil {
		claims = manager.ResourceClaims()
	}
	p.count(claims)
	own := p.classes.of(pod, claims, true)
	if own == nil || len(p.classes.asks) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	if status := p.update(ctx, own); !status.IsSuccess() {
		return status
	}
	if len(p.fleet.takes) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	var taken map[string][]int64
	if claims != nil && len(p.fleet.members) > 0 {
		// It fails if claims change meanwhile, as they do while other pods are bound.
		for range gatherings {
			if found, err := claims.GatherAllocatedState(); err == nil {
				p.allocated = found
				break // else what was known before is the best guess
			}
		}
		if p.allocated != nil {
			taken = p.fleet.taken(p.allocated)
		}
	}
	if !p.look(nodes, taken) {
		if status := p.remake(); !status.IsSuccess() {
			return status
		}
		p.look(nodes, taken) // all kinds are known now
	}
	state.Write(cycleKey, &cycle{p.model, own, p.needOf(own), p.nodes})
	return nil
}

// count adds the pods that have come to the window. Those whose claims are not there yet come with the next cycle.
func (p *Plugin) count(claims fwk.ResourceClaimTracker) {
	p.arrivedMu.Lock()
	arrived := p.arrived
	p.arrived = nil
	p.arrivedMu.Unlock()
	var early []*v1.Pod
	for _, pod := range arrived {
		if of := p.classes.of(pod, claims, false); of != nil {
			p.classes.add(of)
			p.added++
		} else if now, err := p.handle.SharedInformerFactory().Core().V1().Pods().Lister().Pods(pod.Namespace).Get(pod.Name); err == nil {
			early = append(early, now)
		}
	}
	if len(early) > 0 {
		p.arrivedMu.Lock()
		p.arrived = append(early, p.arrived...)
		p.arrivedMu.Unlock()
	}
}

// update makes a new model if the devices, the asks, or the mix of pods have changed.
func (p *Plugin) update(ctx context.Context, own *class) *fwk.Status {
	drifted := p.drifted()
	if drifted {
		own.pods++
		p.classes.forget()
		own.pods--
	}
	changed, err := p.fleet.refresh(p.handle.SharedDRAManager(), p.classes.asks)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Devices are scored as they were before")
	}
	if !drifted && !changed && p.model != nil {
		return nil
	}
	return p.remake()
}

// drifted says whether the mix of pods is another one than that of the model.
func (p *Plugin) drifted() bool {
	if p.added == 0 || float64(p.added) < lookedAt*float64(len(p.classes.seen)) {
		return false
	}
	p.added = 0
	return distance(p.classes.mix(), p.mixed) > changedMix
}

// remake makes the model of the cluster as it is now.
func (p *Plugin) remake() *fwk.Status {
	nodes, err := p.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return fwk.AsStatus(err)
	}
	p.mixed, p.needs, p.nodes = p.classes.mix(), map[*class]*need{}, map[string]*entry{}
	popular := p.classes.sorted()
	slices.SortStableFunc(popular, func(a, b *class) int { return b.pods - a.pods })
	popular = popular[:min(len(popular), mostClasses)]
	classes, shares, pods := make([]need, len(popular)), make([]float64, len(popular)), make([]float64, len(popular))
	for i, one := range popular {
		classes[i], shares[i], pods[i] = *p.needOf(one), p.mixed[one], float64(one.pods)
	}
	made := &model{shapes: shapesOf(classes, shares), mostCPU: 1, mostDevices: 1}
	kinds := p.kindsOf(nodes, made)
	made.prices = pricesOf(newProgram(kinds, classes, pods, len(p.fleet.takes)))
	p.model = made
	return nil
}

// needOf is what the pods of a class need, by the fleet's sorts of devices.
func (p *Plugin) needOf(of *class) *need {
	if known := p.needs[of]; known != nil {
		return known
	}
	made := &need{cpu: of.cpu, memory: of.memory}
	for _, one := range of.asks {
		at := slices.Index(p.fleet.asks, one.ask)
		take := make([]int64, len(p.fleet.takes))
		for sort := range take {
			take[sort] = p.fleet.takes[sort][at]
		}
		made.requests = append(made.requests, request{take, one.count})
	}
	p.needs[of] = made
	return made
}

// kindsOf counts the kinds of nodes, and finds the largest amounts.
func (p *Plugin) kindsOf(nodes []fwk.NodeInfo, of *model) (found []nodeKind) {
	p.kinds = map[string]int{}
	for _, node := range nodes {
		kind := p.kindOf(node)
		of.mostCPU = max(of.mostCPU, float64(kind.cpu))
		number := 0
		for _, one := range kind.devices {
			number += one
		}
		of.mostDevices = max(of.mostDevices, float64(whole*number))
		if at, known := p.known(kind); known {
			found[at].nodes++
			continue
		}
		key := kind.key()
		if len(found) >= mostKinds {
			key = kind.rough()
		}
		p.kinds[key], found = len(found), append(found, *kind)
	}
	return found
}

func (p *Plugin) kindOf(node fwk.NodeInfo) *nodeKind {
	kind := &nodeKind{nodes: 1, cpu: node.GetAllocatable().GetMilliCPU(), memory: node.GetAllocatable().GetMemory(),
		devices: make([]int, len(p.fleet.takes))}
	empty, _ := p.fleet.roomOn(node, nil, nil)
	for _, one := range empty.devices {
		kind.devices[one.sort]++
	}
	return kind
}

// known is the place of the kind among the model's.
func (p *Plugin) known(kind *nodeKind) (at int, known bool) {
	if at, known = p.kinds[kind.key()]; !known {
		at, known = p.kinds[kind.rough()]
	}
	return at, known
}

func (k *nodeKind) key() string { return fmt.Sprint(k.cpu, k.memory, k.devices) }

// rough is the key of all nodes with the same devices.
func (k *nodeKind) rough() string { return fmt.Sprint(k.devices) }

// look brings what is known of the nodes up to date, and says whether their kinds are all known.
func (p *Plugin) look(nodes []fwk.NodeInfo, taken map[string][]int64) bool {
	var scratch []device
	for _, node := range nodes {
		name := node.Node().Name
		var now room
		now, scratch = p.fleet.roomOn(node, taken[name], scratch[:0])
		before := p.nodes[name]
		if before != nil && before.node == node.Node() {
			now.kind = before.room.kind
		} else {
			kind, known := p.known(p.kindOf(node))
			if !known {
				return false
			}
			now.kind = kind
		}
		if before != nil && before.room.same(&now) {
			before.node = node.Node()
			continue
		}
		now.devices = slices.Clone(now.devices)
		p.nodes[name] = &entry{node: node.Node(), room: now, value: p.model.value(&now), costs: map[*class]int64{}}
	}
	return true
}

func (r *room) same(as *room) bool {
	return r.kind == as.kind && r.cpu == as.cpu && r.memory == as.memory && slices.Equal(r.devices, as.devices)
}

// Score returns what the node costs, negative.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	data, err := state.Read(cycleKey)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	now, is := data.(*cycle)
	if !is {
		return 0, fwk.NewStatus(fwk.Error, "the state of the cycle is not that of "+Name)
	}
	of := now.nodes[node.Node().Name]
	if of == nil {
		return 0, fwk.NewStatus(fwk.Error, "node "+node.Node().Name+" is not among those that PreScore was given")
	}
	cost, known := of.costs[now.class]
	if !known {
		var scratch [16]device
		cost = steps(now.model.cost(&of.room, of.value, now.need, scratch[:0]))
		of.costs[now.class] = cost // no other goroutine scores this node
	}
	return -cost, nil
}

// ScoreExtensions returns the plugin itself: costs become scores when those of all nodes are known.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore ranks the nodes: the cheapest ones have the highest score, the next cheapest one less, and so on. Equal
// costs, and whatever comes after the hundredth, are left to the other plugins.
func (p *Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	order := slices.Clone(scores)
	slices.SortFunc(order, func(a, b fwk.NodeScore) int { return cmp.Compare(b.Score, a.Score) })
	rank := map[int64]int64{}
	for _, one := range order {
		if _, known := rank[one.Score]; !known {
			rank[one.Score] = max(fwk.MinScore, fwk.MaxScore-int64(len(rank)))
		}
	}
	for i := range scores {
		scores[i].Score = rank[scores[i].Score]
	}
	return nil
}
