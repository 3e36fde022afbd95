package reservations

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/waiting"
)

// activating is a handle that records which pods are activated.
type activating struct {
	connected
	woken *[]string
}

func (a activating) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	*a.woken = append(*a.woken, slices.Sorted(maps.Keys(pods))...)
}

// queueing is a plugin with 1 CPU on n1 reserved for other pods, and the pods that it activates.
func queueing(t *testing.T) (plugin *Plugin, woken *[]string) {
	t.Helper()
	ledger := reservation.NewLedger()
	ledger.Put(roomFor(t, "owner"))
	woken = new([]string)
	plugin = testobjects.Value(New(nil, activating{woken: woken}, ledger, nil, false))(t)
	return plugin, woken
}

// waiter is a pod of that name.
func waiter(name string) *v1.Pod { return testobjects.Pod(name, "500m", "").Obj() }

// refuse runs a cycle in which the given nodes have no room beside what is held; found says whether the pod found another
// node.
func refuse(t *testing.T, plugin *Plugin, pod *v1.Pod, found bool, nodes ...string) {
	t.Helper()
	cycle := framework.NewCycleState()
	if _, status := plugin.PreFilter(context.Background(), cycle, pod, nil); !status.IsSuccess() {
		t.Fatalf("PreFilter %v", status)
	}
	for _, name := range nodes {
		info := testobjects.NodeInfos(testobjects.Node(name, "0", "0").Obj())[0]
		if status := plugin.Filter(context.Background(), cycle, pod, info); name == "n1" && status.IsSuccess() {
			t.Fatalf("%s is not refused", name)
		}
	}
	if !found {
		plugin.PostFilter(context.Background(), cycle, pod, nil)
	}
}

// Most pods that are refused one node find another. Remembering them all would take memory, and activate them all at every
// change.
func TestOnlyPodsWithoutANodeAreRemembered(t *testing.T) {
	plugin, woken := queueing(t)
	for i := range 1000 {
		refuse(t, plugin, waiter(fmt.Sprint("bound-", i)), true, "n1")
	}
	refuse(t, plugin, waiter("waiting"), false, "n1")
	// PostFilter is not asked about the pods of a group: such a pod would wait for minutes beside room that has come free.
	refuse(t, plugin, inGroup(waiter("member")), true, "n1")

	plugin.Freed(sets.New("n1"))

	if slices.Sort(*woken); len(remembered(plugin)) != 2 || !slices.Equal(*woken, []string{"member", "waiting"}) {
		t.Errorf("%d remembered, %v woken up", len(remembered(plugin)), *woken)
	}
}

// Room that comes free on one node does not help pods that were refused other nodes.
func TestOnlyPodsThatWereRefusedTheNodeAreWokenUp(t *testing.T) {
	plugin, woken := queueing(t)
	refuse(t, plugin, waiter("concerned"), false, "n1")
	many := sets.New[string]()
	for i := range 17 {
		many.Insert(fmt.Sprint("node-", i))
	}
	plugin.waiting.Put(waiter("refused-many"), reasonReserved, many)

	plugin.Freed(sets.New("n2"))
	elsewhere := *woken
	*woken = nil
	plugin.Freed(sets.New("n1"))

	if !slices.Equal(elsewhere, []string{"refused-many"}) || !slices.Equal(*woken, []string{"concerned", "refused-many"}) {
		t.Errorf("woken up by another node %v, by this one %v", elsewhere, *woken)
	}
}

// Preemption tries the nodes again while reservations change: what is remembered of a pod must not change under the eyes of
// those who read it.
func TestWhatPreemptionTriesIsNotRemembered(t *testing.T) {
	plugin, woken := queueing(t)
	other := testobjects.Reservation("other", "n2", v1.ResourceCPU, "1", "owner")
	other.SetUID("other")
	plugin.ledger.Put(testobjects.Value(reservation.Read(other))(t))
	pod, cycle := waiter("waiting"), framework.NewCycleState()
	info := func(name string) fwk.NodeInfo {
		return testobjects.NodeInfos(testobjects.Node(name, "0", "0").Obj())[0]
	}
	plugin.PreFilter(context.Background(), cycle, pod, nil)
	plugin.Filter(context.Background(), cycle, pod, info("n1"))
	plugin.PostFilter(context.Background(), cycle, pod, nil)

	status := plugin.Filter(context.Background(), cycle.Clone(), pod, info("n2"))
	plugin.Freed(sets.New("n2"))

	if status.IsSuccess() || len(*woken) > 0 {
		t.Errorf("Filter %v, woken up %v", status, *woken)
	}
}

// Pods that are deleted while they wait, or while they are being scheduled, leave nothing behind, nor does one
// that another process binds.
func TestPodsThatAreGoneAreForgotten(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	plugin, _ := queueing(t)
	client := fake.NewClientset(waiter("deleted"), waiter("bound"), waiter("stays"))
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	testobjects.Must(t, plugin.Watch(pods))
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), pods.HasSynced)
	for _, name := range []string{"deleted", "bound", "stays", "deleted before it is kept"} {
		refuse(t, plugin, waiter(name), false, "n1")
	}

	bound := waiter("bound")
	bound.Spec.NodeName = "n2"
	testobjects.Must(t, client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), bound, "default"))
	testobjects.Must(t, client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", "deleted"))

	testobjects.Eventually(t, "one is remembered", func() bool { return slices.Equal(remembered(plugin), []string{"stays"}) })
}

// remembered are the pods that wait.
func remembered(plugin *Plugin) []string {
	return slices.Collect(maps.Keys(plugin.waiting.Pods(func(waiting.Entry) bool { return true })))
}

// Where nothing is reserved, which is most of the time, the plugin costs nothing: it neither filters nor scores a single
// node, and does not even store a cycle state.
func TestPluginDoesNothingWhereNothingIsReserved(t *testing.T) {
	plugin := testobjects.Value(New(nil, activating{}, reservation.NewLedger(), nil, false))(t)
	cycle, pod := framework.NewCycleState(), waiter("p")
	_, filter := plugin.PreFilter(context.Background(), cycle, pod, nil)
	_, post := plugin.PostFilter(context.Background(), cycle, pod, nil)
	score := plugin.PreScore(context.Background(), cycle, pod, nil)
	reserve := plugin.Reserve(context.Background(), cycle, pod, "n1")
	plugin.Unreserve(context.Background(), cycle, pod, "n1")

	if !filter.IsSkip() || !score.IsSkip() || !reserve.IsSuccess() || post.Code() != fwk.Unschedulable || post.Message() != "" {
		t.Errorf("PreFilter %v, PostFilter %v, PreScore %v, Reserve %v", filter, post, score, reserve)
	}
	if stateOf(cycle) != nil || len(remembered(plugin)) != 0 {
		t.Errorf("state %v, remembered %v", stateOf(cycle), len(remembered(plugin)))
	}
}

// Where room is reserved, the plugin scores nodes for the owners, and filters them for all other pods.
func TestNodesAreAskedOnlyWhereSomethingIsReserved(t *testing.T) {
	for name, c := range map[string]struct {
		app              string
		filtered, scored bool
	}{
		"for the pod": {app: "a", scored: true},
		"for others":  {app: "b", filtered: true},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := reservation.NewLedger()
			ledger.Put(roomFor(t, "a"))
			plugin := testobjects.Value(New(nil, connected{}, ledger, nil, false))(t)
			cycle, pod := framework.NewCycleState(), podOf(c.app)

			_, filter := plugin.PreFilter(context.Background(), cycle, pod, nil)
			score := plugin.PreScore(context.Background(), cycle, pod, nil)

			if filter.IsSkip() == c.filtered || score.IsSkip() == c.scored {
				t.Errorf("PreFilter %v, PreScore %v", filter, score)
			}
		})
	}
}

func roomFor(t *testing.T, app string) *reservation.Record {
	t.Helper()
	return testobjects.Value(reservation.Read(testobjects.Reservation("room", "n1", v1.ResourceCPU, "1", app)))(t)
}

func podOf(app string) *v1.Pod { return testobjects.Pod("p", "500m", "").Label("app", app).Obj() }
