package resources

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// A plan that takes a pod's devices for free as soon as the pod is gone sends another to a node on which it finds none.
func TestADeviceIsFreeOnlyWhenItsClaimIsGone(t *testing.T) {
	template, node := aTemplate("one", exactly("gpu", 1)), aNode("n1")
	stays, gone := aPod("stays", "n1", "one"), aPod("gone", "n1", "one")
	objects := []*resourceapi.ResourceClaim{claimOf(stays, template, "n1", "n1-0"), claimOf(gone, template, "n1", "n1-1")}
	c := newCluster(t, node, aClass("gpu", ""), aSlice("n1", "a", "a", "a"), template, stays, objects[0], objects[1])

	if free := c.free(node, "gpu", stays); free != 1 {
		t.Errorf("%d devices are free beside the claim of a pod that is gone, want 1", free)
	}
	if held := c.book.HeldBeside("n1", []*v1.Pod{stays}).Of(dimensionOf("gpu")); held != 1 {
		t.Errorf("%d devices are held beside the pods, want 1", held)
	}
	testobjects.Must(t, c.client.ResourceV1().ResourceClaims("team").Delete(t.Context(), objects[1].Name, metav1.DeleteOptions{}))
	testobjects.Eventually(t, "the device is free", func() bool { return c.free(node, "gpu", stays) == 2 })
}

// A release may run for a while with the role of an earlier chart. Waiting for templates, the scheduler would never be ready.
func TestWithoutTheRightToReadTemplatesTheSchedulerIsReadyAndCountsNoDevices(t *testing.T) {
	client := fake.NewClientset(aNode("n1"), aClass("gpu", ""), aSlice("n1", "a"))
	client.PrependReactor("list", "resourceclaimtemplates", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(resourceapi.Resource("resourceclaimtemplates"), "", nil)
	})

	c := newClusterOf(t, client, NewCatalogue())

	if c.book.CountsDevices() || c.book.HasDevices() {
		t.Error("devices are counted, although what pods ask for may not be read")
	}
}

// A plan waits for what comes free by itself: it would be aborted for devices that are in no sum.
func TestDevicesOfPodsThatAreGoneAwaitDeallocation(t *testing.T) {
	template, node, now := aTemplate("one", exactly("gpu", 1)), aNode("n1"), metav1.Now()
	stays, gone, again := aPod("stays", "n1", "one"), aPod("gone", "n1", "one"), aPod("again", "", "one")
	done, cancelled, terminates := aPod("done", "n1", "one"), aPod("cancelled", "", "one"), aPod("terminates", "n1", "one")
	done.Status.Phase = v1.PodSucceeded
	for _, pod := range []*v1.Pod{cancelled, terminates} {
		pod.DeletionTimestamp, pod.Finalizers = &now, []string{"example.com/late"}
	}
	named, others := claimOf(aPod("x", "n1"), template, "n1", "n1-7"), claimOf(aPod("y", "n1"), template, "n1", "n1-8")
	named.OwnerReferences, others.OwnerReferences[0].Kind = nil, "Job"
	objects := []runtime.Object{node, aClass("gpu", ""), aSlice("n1", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a"), template,
		stays, again, done, cancelled, terminates, named, others}
	for i, pod := range []*v1.Pod{stays, gone, again, done, cancelled, terminates} {
		objects = append(objects, claimOf(pod, template, "n1", fmt.Sprint("n1-", i)))
	}
	c := newCluster(t, objects...)

	for want, pods := range map[int64][]*v1.Pod{10 - 8: {stays, terminates}, 10 - 6: nil} {
		info := infoOf(node, pods...)
		free, toCome := c.book.Free(info).Of(dimensionOf("gpu")), c.book.AwaitingDeallocation(info).Of(dimensionOf("gpu"))
		// The three that come free are those of the pods that are gone, done and cancelled, whoever is on the node.
		if free != want || toCome != 3 {
			t.Errorf("beside %d pods, %d devices are free and %d await deallocation, want %d and 3", len(pods), free, toCome, want)
		}
	}
}

// Whoever leaves in a rehearsal still runs in the cluster.
func TestADeviceOfAPodThatLeavesInARehearsalIsFree(t *testing.T) {
	template, node := aTemplate("one", exactly("gpu", 1)), aNode("n1")
	leaves := aPod("leaves", "n1", "one")
	c := newCluster(t, node, aClass("gpu", ""), aSlice("n1", "a", "a"), template, leaves, claimOf(leaves, template, "n1", "n1-0"))

	if free := c.free(node, "gpu"); free != 2 {
		t.Errorf("%d devices are free without the pod, want 2", free)
	}
	// It takes one where it arrives, whatever it still has where it was.
	other := aNode("n2")
	if amount := c.free(other, "gpu", leaves); amount != 0 {
		t.Errorf("%d devices on a node without any", amount)
	}
}

// The scheduler has chosen a device, and the claim does not say so yet.
func TestADeviceInFlightIsTaken(t *testing.T) {
	template, two, node := aTemplate("one", exactly("gpu", 1)), aTemplate("two", exactly("gpu", 2)), aNode("n1")
	bound, half := aPod("bound", "n1", "one"), aPod("half", "n1", "one", "two")
	claims := []*resourceapi.ResourceClaim{claimOf(bound, template, ""), claimOf(half, template, "n1", "n1-0"), claimOf(half, two, "")}
	c := newCluster(t, node, aClass("gpu", ""), aSlice("n1", "a", "a", "a", "a", "a"), template, two, bound, half,
		claims[0], claims[1], claims[2])

	if free := c.free(node, "gpu", bound); free != 5-1 {
		t.Errorf("%d devices are free beside a pod in flight, want 4", free)
	}
	if free := c.free(node, "gpu", bound, half); free != 5-1-3 {
		t.Errorf("%d devices are free beside a pod of which one claim of two has devices, want 1", free)
	}
}

// It outlives its pods.
func TestADeviceOfANamedClaimIsTaken(t *testing.T) {
	node, user := aNode("n1"), aPod("user", "n1")
	named := claimOf(aPod("nobody", ""), aTemplate("x", exactly("gpu", 1)), "n1", "n1-0")
	named.OwnerReferences = nil
	user.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &named.Name}}
	asks := aPod("asks", "", "one")
	c := newCluster(t, node, aClass("gpu", ""), aSlice("n1", "a", "a"), named, user, aTemplate("one", exactly("gpu", 1)), asks)

	for _, pods := range [][]*v1.Pod{nil, {user}} {
		if free := c.free(node, "gpu", pods...); free != 1 {
			t.Errorf("%d devices are free beside %d users of a named claim, want 1", free, len(pods))
		}
		if held := c.book.HeldBeside("n1", pods).Of(dimensionOf("gpu")); held != 1 {
			t.Errorf("%d devices are held beside %d users of a named claim, want 1", held, len(pods))
		}
	}
}

// A pod that accepts any model may sit on the only one of its kind: form by form, that one would be free.
func TestAnyModelOnAnA100LeavesNoA100Free(t *testing.T) {
	template, node := aTemplate("any", exactly("gpu", 1)), aNode("n1")
	sits, waits := aPod("sits", "n1", "any"), aPod("waits", "", "a100")
	c := newCluster(t, node, aClass("gpu", ""), aClass("a100", "A100"), aSlice("n1", "T4", "A100"), template,
		aTemplate("a100", exactly("a100", 1)), sits, claimOf(sits, template, "n1", "n1-1"), waits)

	if any, a100 := c.free(node, "gpu", sits), c.free(node, "a100", sits); any != 1 || a100 != 0 {
		t.Errorf("%d devices are free and %d of them A100, want 1 and 0", any, a100)
	}
	held := c.book.HeldBeside("n1", []*v1.Pod{sits})
	if held.Of(dimensionOf("a100")) != 1 || held.Of(dimensionOf("gpu")) != 0 {
		t.Errorf("held beside what the pod needs: %+v, want the A100", held)
	}
	if c.book.Needs(waits).FitsIn(c.book.Free(infoOf(node, sits))) {
		t.Error("a pod that needs an A100 fits")
	}
}

// There the scheduler counts amounts, and looks for no devices.
func TestANodeThatListsAResourceCountsWhatItLists(t *testing.T) {
	lists, gives := aNode("lists", "4"), aNode("gives")
	runs, waits, claims := extended(aPod("runs", "lists"), "3"), extended(aPod("waits", ""), "2"), aPod("claims", "", "one")
	c := newCluster(t, lists, gives, served(aClass("gpu", "")), aSlice("lists", "a"), aSlice("gives", "a", "a"), runs, waits, claims,
		aTemplate("one", exactly("gpu", 1)))
	needs := c.book.Needs(waits)

	if needs.Of(gpu) != 0 || needs.Of(dimensionOf("example.com_gpu")) != 2 {
		t.Errorf("the pod needs %+v", needs)
	}
	if needs.FitsIn(c.book.Free(infoOf(lists, runs))) || !needs.FitsIn(c.book.Free(infoOf(lists))) {
		t.Error("2 fit beside 3 of 4, or not into 4")
	}
	if !needs.FitsIn(c.book.Free(infoOf(gives))) || needs.FitsIn(c.book.Free(infoOf(gives, waits))) {
		t.Error("2 do not fit into 2 devices, or beside 2")
	}
	if ofClaim := c.book.Needs(claims); !ofClaim.FitsIn(c.book.Free(infoOf(lists, runs, extended(aPod("more", "lists"), "1")))) {
		t.Error("the device of the node that lists the resource is not free for a claim")
	}
	if free := c.book.Free(infoOf(gives, waits)); free.Of(gpu) != 0 {
		t.Errorf("a node that does not list the resource has %d of it", free.Of(gpu))
	}
}

// What it holds, no other pod like it could get: a plan must not count on it.
func TestAPodOnADeviceThatIsClosedNowNeedsNoDevicesAndIsRefused(t *testing.T) {
	template, node := aTemplate("one", exactly("gpu", 1)), aNode("n1")
	tainted, vanished, well := aPod("tainted", "n1", "one"), aPod("vanished", "n1", "one"), aPod("well", "n1", "one")
	waits := aPod("waits", "", "one")
	slice := aSlice("n1", "a", "a", "a")
	slice.Spec.Devices[0].Taints = []resourceapi.DeviceTaint{{Key: "unhealthy", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
	c := newCluster(t, node, aClass("gpu", ""), slice, template, tainted, vanished, well, waits, claimOf(tainted, template, "n1", "n1-0"),
		claimOf(vanished, template, "n1", "n1-7"), claimOf(well, template, "n1", "n1-1"), claimOf(waits, template, "n1", "n1-2"))

	for pod, want := range map[*v1.Pod]string{tainted: closedDevice, vanished: closedDevice, well: "", waits: alreadyAllocated} {
		if got := c.book.Devices(pod).Refused; len(got) > 1 || len(got) == 1 && got[0] != want || len(got) == 0 && want != "" {
			t.Errorf("%s is refused for %v, want %q", pod.Name, got, want)
		}
	}
	if amount := c.book.Needs(tainted).Of(dimensionOf("gpu")); amount != 0 {
		t.Errorf("a pod on a tainted device needs %d", amount)
	}
	// Two untainted devices: one is the well one's, one of a claim whose pod waits again.
	if free := c.free(node, "gpu", tainted, vanished, well); free != 0 {
		t.Errorf("%d devices are free, want 0", free)
	}
}

// Pods and clusters without devices are not to become slower.
func TestWithoutDevicesNothingIsLookedUp(t *testing.T) {
	node, pod := aNode("n1"), testobjects.Pod("plain", "1", "1Gi").Node("n1").Obj()
	info := infoOf(node, pod)
	c, plain := newCluster(t, node, pod), (*Book)(nil)
	for name, read := range map[string]func(*Book){
		"needs": func(b *Book) { b.Needs(pod) }, "capacity": func(b *Book) { b.Capacity(node) }, "free": func(b *Book) { b.Free(info) },
		"keys": func(b *Book) { b.PodKey(pod); b.NodeKey(node) }, "devices": func(b *Book) { b.Devices(pod); b.HeldBeside("n1", nil) },
	} {
		with, without := testing.AllocsPerRun(100, func() { read(c.book) }), testing.AllocsPerRun(100, func() { read(plain) })
		if with > without {
			t.Errorf("%s: %.0f allocations, and %.0f without a catalogue", name, with, without)
		}
	}
	if c.book.HasDevices() {
		t.Error("there are some devices")
	}
}

// Each snapshot and each rehearsal refreshes the catalogue. Where there are no devices, the number of pods is of no matter.
func TestRefreshingCostsNothingWithoutDevices(t *testing.T) {
	pods := make([]runtime.Object, 300)
	for i := range pods {
		pods[i] = aPod(fmt.Sprint("p", i), "")
	}
	few, many := newCluster(t, pods[:1]...), newCluster(t, pods...)

	one, all := testing.AllocsPerRun(10, func() { few.book.Refresh() }), testing.AllocsPerRun(10, func() { many.book.Refresh() })
	if all > one {
		t.Errorf("%.0f allocations with 300 pods, %.0f with one", all, one)
	}
}

// The dimensions of all nodes and pods depend on what is asked for, so it is remembered between two pods of a kind, however
// many snapshots are taken meanwhile, and not for ever.
func TestWhatNoPodAsksForAnyMoreIsForgottenAfterATime(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	c := newCluster(t, aNode("n1"), aClass("gpu", ""), aSlice("n1", "a"), aTemplate("t", exactly("gpu", 1)))
	c.book.devices.Clock = clock
	counted := func() bool { return c.book.Refresh().Capacity(aNode("n1")).Of(dimensionOf("gpu")) == 1 }
	c.book.Devices(aPod("gone", "", "t"))

	for range 2000 {
		c.book.Refresh()
	}
	clock.SetTime(clock.Now().Add(forgottenAfter - time.Minute))
	if !counted() {
		t.Error("it is forgotten too soon")
	}
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	if counted() {
		t.Error("it is remembered for ever")
	}
}

// The amounts of one snapshot belong together, although pods of a new kind may come while it is taken.
func TestARefreshedBookKeepsToItsState(t *testing.T) {
	c := newCluster(t, aNode("n1"), aClass("gpu", ""), aClass("a", "a"), aSlice("n1", "a", "b"), aTemplate("any", exactly("gpu", 1)),
		aTemplate("new", exactly("a", 1)), aPod("old", "", "any"))
	book := c.book.Refresh()
	before := book.Capacity(aNode("n1"))

	needs := c.book.Needs(aPod("new", "", "new"))
	if needs.Of(dimensionOf("a")) != 1 || c.book.Capacity(aNode("n1")).Equal(before) {
		t.Errorf("the pod needs %+v", needs)
	}
	if !book.Capacity(aNode("n1")).Equal(before) {
		t.Errorf("the node had %+v and has %+v", before, book.Capacity(aNode("n1")))
	}
	if got := book.Devices(aPod("new", "", "new")).Refused; !slices.Equal(got, []string{requestNotRead + " a"}) {
		t.Errorf("the pod is refused for %v", got)
	}
}

// Its remedy is to ask for fewer different things, which does not help with a request that has only just come.
func TestOnlyARequestBeyondTheLimitIsRefusedForTheNumberOfRequests(t *testing.T) {
	asks := make([]ask, maxAsks)
	for i := range asks {
		asks[i] = ask{name: fmt.Sprint("gpu.", i), class: "gpu"}
	}
	c := newCluster(t, aClass("gpu", ""), aSlice("n1", "a"), aTemplate("new", exactly("gpu", 1)))
	c.book.devices.know(asks)

	for _, book := range []*Book{c.book, c.book.Refresh()} {
		if got := book.Devices(aPod("new", "", "new")).Refused; !slices.Contains(got, devicesOverlap+" gpu") {
			t.Errorf("the pod is refused for %v", got)
		}
	}
}

// A nil catalogue is that of every test and of scorecache.
func TestABookWithoutACatalogueCountsNoDevices(t *testing.T) {
	pod := aPod("p", "", "one")
	for _, book := range []*Book{nil, {}, NewBook(testobjects.NewHandle(), nil), NewBook(testobjects.NewHandle(), NewCatalogue())} {
		book.Refresh()
		if len(book.Devices(pod).Refused)+len(book.ClaimsOf(pod)) > 0 || book.TemplateOf("team", "one") != nil ||
			book.PodKey(pod) != (Key{object: pod}) || !book.HeldBeside("n1", []*v1.Pod{pod}).IsZero() || book.DevicesOn("n1") != "" {
			t.Errorf("a book without devices says %+v of a pod with claims", book.Devices(pod))
		}
	}
}

// Plans are dropped when a node changes: what others ask for is no change of it, and a taint is.
func TestTheDigestOfANodesDevicesChangesWithThemAlone(t *testing.T) {
	c := newCluster(t, aNode("n1"), aClass("gpu", ""), aClass("a", "a"), aSlice("n1", "a", "b"), aTemplate("one", exactly("a", 1)))
	before, key := c.book.DevicesOn("n1"), c.book.NodeKey(aNode("n1"))

	c.book.Devices(aPod("p", "", "one"))
	if after := c.book.DevicesOn("n1"); after != before || before == "" {
		t.Errorf("with a new ask %q became %q", before, after)
	}
	if node := aNode("n1"); c.book.NodeKey(node) == (Key{object: node, state: key.state}) {
		t.Error("with a new ask the amounts of the node are thought to be the same")
	}
	slice := aSlice("n1", "a", "b")
	slice.Spec.Devices[0].Taints = []resourceapi.DeviceTaint{{Key: "x", Value: "y", Effect: resourceapi.DeviceTaintEffectNoExecute}}
	testobjects.Value(c.client.ResourceV1().ResourceSlices().Update(t.Context(), slice, metav1.UpdateOptions{}))(t)
	testobjects.Eventually(t, "the taint shows", func() bool {
		c.book.Refresh()
		return c.book.DevicesOn("n1") != before
	})
}
