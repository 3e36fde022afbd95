package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Refusal is a pod that the profile's plugins do not let onto the node the plan gave it.
type Refusal struct {
	Pod  *snapshot.Pod
	Node string
	// Plugin is empty if no single plugin refused.
	Plugin, Message string
	// NoRoom is set if the node has no room for the pod, which may be for a while only.
	NoRoom bool
}

// Error is the refusal as a message.
func (r Refusal) Error() string {
	plugin := r.Plugin
	if plugin == "" {
		plugin = "the scheduler"
	}
	return fmt.Sprintf("%s does not let pod %s/%s onto node %q: %s",
		plugin, r.Pod.Object.Namespace, r.Pod.Object.Name, r.Node, r.Message)
}

// StaleError says that the cluster has changed since the plan was made.
type StaleError struct{ Cause error }

func (e *StaleError) Error() string {
	return fmt.Sprintf("the cluster has changed since the plan was made: %v", e.Cause)
}

func (e *StaleError) Unwrap() error { return e.Cause }

// Outcome is the result of a replay.
type Outcome struct {
	// Refusals are empty if every pod of the plan has its node in the end.
	Refusals []Refusal
	// RequireAll says that the plan needs evictions that are not needed for room: the evicted pod and an arriving one
	// want the same host port, or have an anti-affinity rule.
	RequireAll bool
	// Early are the moved pods that must go before there is room for their replacements although
	// others are expected to come.
	Early []types.UID
	// Claims are those that got their devices when a pod came, by that pod or the one that it replaces.
	Claims map[types.UID][]*resourceapi.ResourceClaim
	// Differences are the pods that came to other devices than the plan says.
	Differences []Difference
	// Events are in the order in which they happened. Which devices a pod gets depends on who came before.
	Events []Event
}

// Difference is a pod that comes to other devices than the plan says. It fits all the same, as far as has been tried.
type Difference struct {
	Pod           *snapshot.Pod
	Node          string
	Planned, Came []string
}

// differs says whether the pod that has come has other devices than the plan says, of those whose order counts.
func (a *arrival) differs(claims []*resourceapi.ResourceClaim, counted []string) (found Difference, some bool) {
	if a.Turn == 0 {
		return found, false
	}
	found = Difference{Pod: a.Pod, Node: a.To, Planned: slices.Sorted(slices.Values(a.Devices))}
	for _, claim := range claims {
		for i := range claim.Status.Allocation.Devices.Results {
			if name := resources.DeviceName(&claim.Status.Allocation.Devices.Results[i]); slices.Contains(counted, name) {
				found.Came = append(found.Came, name)
			}
		}
	}
	slices.Sort(found.Came)
	return found, !slices.Equal(found.Planned, found.Came)
}

// Event is that a pod leaves its node, or that it or its replacement comes to one.
type Event struct {
	Pod *snapshot.Pod
	// To is empty if the pod leaves.
	To string
}

// Replay carries the plan out on copies of the nodes. The error is a *StaleError, unless something
// is broken.
func (f *Framework) Replay(ctx context.Context, of *plan.Plan) (Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.update(ctx); err != nil {
		return Outcome{}, fmt.Errorf("replaying the plan: %w", err)
	}
	defer f.showScheduler()
	first, err := f.newReplay(of)
	if err != nil {
		return Outcome{}, err
	}
	refusals, err := first.run(ctx)
	if err == nil && len(refusals) == 0 {
		return first.outcome(nil), nil
	}
	second, otherwise := f.newReplay(of)
	if otherwise != nil {
		return Outcome{}, otherwise
	}
	last, required := first, second.execution.RequireAll()
	if required {
		last = second
		refusals, err = last.run(ctx)
	}
	if err != nil {
		return Outcome{}, &StaleError{err}
	}
	outcome := last.outcome(refusals)
	outcome.RequireAll = required
	return outcome, nil
}

func (r *replay) outcome(refusals []Refusal) Outcome {
	return Outcome{Refusals: refusals, Early: r.early, Claims: r.claims, Differences: r.differences, Events: r.events}
}

// arrival is a placement, or a move: its pod must be gone before.
type arrival struct {
	plan.Step
	// pod is the one that arrives, status what the plugins last said of it.
	pod    *v1.Pod
	status *fwk.Status
	// seen is how often the node had changed when the pod was last tried.
	seen int
}

// judgeTheNodeAlone are the plugins of which Filter depends on the pod and the node alone.
var judgeTheNodeAlone = sets.New(names.NodeResourcesFit, names.NodePorts)

// waitsForItsNode says that the pod will be refused again, since its node has not changed.
func (a *arrival) waitsForItsNode(on *clusterCopy) bool {
	return a.status != nil && judgeTheNodeAlone.Has(a.status.Plugin()) && a.seen == on.changes[a.To]
}

// replay drives an execution of the plan as the plugin does, on a copy of the cluster instead of an API server.
type replay struct {
	book      *resources.Book
	cluster   *clusterCopy
	execution *executor.Execution
	arrivals  []*arrival
	gone      sets.Set[types.UID]
	// nodes are those that pods of the plan leave or arrive on.
	nodes []string
	early []types.UID
	// claims are those of the pods that have come.
	claims      map[types.UID][]*resourceapi.ResourceClaim
	differences []Difference
	events      []Event
}

// newReplay makes a copy of the cluster and shows it to the plugins.
func (f *Framework) newReplay(of *plan.Plan) (*replay, error) {
	cluster, err := f.newClusterCopy()
	if err != nil {
		return nil, err
	}
	if err := f.show(cluster); err != nil {
		return nil, fmt.Errorf("replaying the plan: %w", err)
	}
	r := &replay{cluster: cluster, book: f.book, gone: sets.New[types.UID](), nodes: of.Nodes(),
		claims: map[types.UID][]*resourceapi.ResourceClaim{}}
	for _, move := range of.Moves {
		r.arrivals = append(r.arrivals, &arrival{Step: move, pod: cluster.replacement(move.Pod.Object)})
	}
	for _, placement := range of.Placements {
		r.arrivals = append(r.arrivals, &arrival{Step: placement, pod: unbound(placement.Pod.Object)})
	}
	slices.SortStableFunc(r.arrivals, func(a, b *arrival) int { return cmp.Compare(a.Turn, b.Turn) })
	r.execution = executor.New(of, r.free(), 0)
	r.execution.FreesAtOnce()
	return r, nil
}

func (r *replay) free() map[string]resources.Vector { return r.book.FreeOn(r.cluster, r.nodes) }

// unbound is the pod as the scheduler sees it while it waits.
func unbound(pod *v1.Pod) *v1.Pod {
	arriving := pod.DeepCopy()
	arriving.Spec.NodeName = ""
	arriving.DeletionTimestamp = nil
	arriving.Status = v1.PodStatus{Phase: v1.PodPending, ResourceClaimStatuses: arriving.Status.ResourceClaimStatuses}
	return arriving
}

// run alternates waves of evictions and arrivals until nothing more happens. Before it gives up, all pods that are moved
// have left their nodes: no pod is refused because of one that will not stay.
func (r *replay) run(ctx context.Context) ([]Refusal, error) {
	for {
		left, err := r.evict(ctx)
		if err != nil {
			return nil, err
		}
		came, err := r.bind(ctx)
		if err != nil {
			return nil, err
		}
		if len(r.arrivals) == 0 || !left && !came && !r.unblock() {
			return r.refusals()
		}
	}
}

// unblock allows the early eviction of one waiting pod of each cycle.
func (r *replay) unblock() bool {
	uids := r.execution.Unblock(r.free())
	r.early = append(r.early, uids...)
	return len(uids) > 0
}

func (r *replay) evict(ctx context.Context) (some bool, err error) {
	for _, departure := range r.execution.Next(r.free()) {
		uid := departure.Pod.Object.UID
		if err := r.cluster.leave(ctx, departure.Pod.Object, departure.Pod.Node); err != nil {
			return false, err
		}
		r.execution.Opened(uid)
		r.execution.Evicted(uid)
		r.execution.Gone(uid)
		r.gone.Insert(uid)
		r.events = append(r.events, Event{Pod: departure.Pod})
		some = true
	}
	return some, nil
}

// bind binds all units that fit now.
func (r *replay) bind(ctx context.Context) (some bool, err error) {
	var waiting []*arrival
	for _, unit := range packingplan.Units(r.arrivals) {
		here, err := r.tryToBind(ctx, unit)
		if err != nil {
			return false, err
		}
		if here {
			some = true
		} else {
			waiting = append(waiting, unit...)
		}
	}
	r.arrivals = waiting
	return some, nil
}

// tryToBind binds all pods of the unit or none.
func (r *replay) tryToBind(ctx context.Context, unit []*arrival) (bool, error) {
	if slices.ContainsFunc(unit, func(one *arrival) bool {
		return one.From != "" && !r.gone.Has(one.Pod.Object.UID) || one.waitsForItsNode(r.cluster) ||
			one.Turn > 0 && !r.execution.HasTurn(one.Pod.ReplicaKey(), one.To)
	}) {
		return false, nil
	}
	for i, one := range unit {
		if here, err := r.tryOne(ctx, one); !here || err != nil {
			return false, errors.Join(err, r.takeBack(ctx, unit[:i]))
		}
	}
	for _, one := range unit {
		r.execution.Bound(one.pod.UID)
		if claims := r.cluster.claims.of(one.pod); len(claims) > 0 {
			r.claims[one.Pod.Object.UID] = claims
			if differs, some := one.differs(claims, r.book.Layout(one.To).Names); some {
				r.differences = append(r.differences, differs)
			}
		}
		r.events = append(r.events, Event{one.Pod, one.To})
	}
	return true, nil
}

func (r *replay) takeBack(ctx context.Context, came []*arrival) error {
	for _, one := range came {
		r.execution.Unreserve(one.pod.UID)
		if err := r.cluster.leave(ctx, one.pod, one.To); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) tryOne(ctx context.Context, one *arrival) (bool, error) {
	one.seen = r.cluster.changes[one.To]
	status, err := r.cluster.fits(ctx, one.Pod.Class, one.pod, one.To)
	if err != nil {
		return false, err
	}
	if one.status = status; !status.IsSuccess() {
		return false, nil
	}
	if !r.execution.Reserve(one.pod, one.To, true) {
		return false, nil
	}
	return true, r.cluster.arrive(ctx, one.Pod.Class, one.pod, one.To)
}

// refusals are the pods that were tried and refused. A pod that only lacks room may lack it because of another refusal:
// it is named only if there are no other refusals.
func (r *replay) refusals() (refused []Refusal, err error) {
	free, others := r.free(), false
	for _, one := range r.arrivals {
		if one.status == nil || one.status.IsSuccess() {
			continue
		}
		noRoom := !one.Pod.Requests.FitsIn(free[one.To])
		others = others || !noRoom
		refused = append(refused, Refusal{one.Pod, one.To, one.status.Plugin(), one.status.Message(), noRoom})
	}
	if len(refused) == 0 && len(r.arrivals) > 0 {
		return nil, fmt.Errorf("%d pods never get their turn", len(r.arrivals))
	}
	return slices.DeleteFunc(refused, func(one Refusal) bool { return others && one.NoRoom }), nil
}
