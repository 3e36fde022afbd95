package resources_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

var (
	fleets    = flag.Int("fleets", 600, "how many random fleets are tried")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first fleet")
	caseFiles = flag.String("cases", "", "the folder to which cases for the optimiser are written")
)

// The cases that are written are few and small, and not without a choice.
const mostCases, largestCase, fewestArrivals = 40, 5 << 10, 3

// binCluster is a fleet with pods, and what a book of it tells.
type binCluster struct {
	*testing.T
	*binFleet
	stored resources.StoredObjects
	book   *resources.Book
	pods   []*v1.Pod
	counts map[string]int
	story  []string
}

// Of a cluster, a snapshot tells enough to foretell which devices the scheduler's allocator gives to pods that come in some
// order: those of the first fit in the order of the layout.
func TestTheFirstFitInALayoutIsWhatTheAllocatorGives(t *testing.T) {
	counts := map[string]int{}
	for i := range uint64(*fleets) {
		c := newCluster(t, *firstSeed+i, counts)
		if c.compare(); t.Failed() {
			t.Fatalf("%s\ngo test ./resources -run FirstFit -args -fleets=1 -seed=%d", strings.Join(c.story, "\n"), *firstSeed+i)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", what, counts[what])
	}
	if counts["pods that fit"] < *fleets || counts["pods that do not fit"] < *fleets/10 {
		t.Error("hardly any pod fits, or nearly all do: the test shows less than it says")
	}
}

func newCluster(t *testing.T, seed uint64, counts map[string]int) *binCluster {
	t.Helper()
	c := &binCluster{T: t, binFleet: newBinFleet(seed), stored: resources.NewStoredObjects(), counts: counts}
	for _, node := range c.nodes {
		c.must(c.stored.Nodes.Add(node))
	}
	for _, template := range c.templates {
		c.must(c.stored.Templates.Add(template))
	}
	c.book = resources.NewBookOf(manager{binFleet: c.binFleet}, c.stored)
	for range c.IntN(7) {
		pod := c.newPod()
		if node := some(c.binFleet, c.nodes...); c.allocated(pod, node) != nil {
			c.add(pod, node.Name)
		}
	}
	for _, pod := range slices.Clone(c.pods) {
		if !c.in(3) {
			continue
		}
		c.pods = slices.DeleteFunc(c.pods, func(one *v1.Pod) bool { return one == pod })
		c.must(c.stored.Pods.Delete(pod))
		for _, claim := range c.claims(pod) {
			if !c.in(5) { // its controller has not noticed yet that the pod is gone
				c.must(c.stored.Claims.Delete(claim))
			}
		}
	}
	return c
}

func (c *binCluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *binCluster) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf(format, args...))
}

// add has the pod be there, on the node if there is one.
func (c *binCluster) add(pod *v1.Pod, node string) {
	pod.Spec.NodeName = node
	if !slices.Contains(c.pods, pod) {
		c.pods = append(c.pods, pod)
	}
	c.must(c.stored.Pods.Add(pod))
}

// claims are the pod's own.
func (c *binCluster) claims(pod *v1.Pod) (claims []*resourceapi.ResourceClaim) {
	for _, of := range c.claimsOf(pod) {
		if found, there, _ := c.stored.Claims.Get(of); there {
			claims = append(claims, found.(*resourceapi.ResourceClaim))
		}
	}
	return claims
}

// allocated are the pod's claims with the devices that the scheduler gives it on the node, which it has from now on; nil if it
// gets none.
func (c *binCluster) allocated(pod *v1.Pod, node *v1.Node) []*resourceapi.ResourceClaim {
	features, expressions := resources.Allocating()
	allocator, err := structured.NewAllocator(c.Context(), features, c.state(), manager{binFleet: c.binFleet}, c.slices, expressions)
	c.must(err)
	claims := c.claimsOf(pod)
	results, err := allocator.Allocate(c.Context(), node, claims)
	if err != nil || len(results) == 0 {
		return nil
	}
	for i, claim := range claims {
		claim.Status.Allocation = &results[i]
		c.must(c.stored.Claims.Add(claim))
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses,
			v1.PodResourceClaimStatus{Name: pod.Spec.ResourceClaims[i].Name, ResourceClaimName: &claim.Name})
	}
	return claims
}

// state is that of all devices, as the scheduler gathers it.
func (c *binCluster) state() structured.AllocatedState {
	made := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	for _, object := range c.stored.Claims.List() {
		for _, result := range object.(*resourceapi.ResourceClaim).Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				made.AllocatedDevices.Insert(id)
				continue
			}
			made.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				made.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	return made
}

// snapshot is that of the cluster now.
func (c *binCluster) snapshot() *snapshot.Snapshot {
	return snapshot.Build(snapshot.Input{ID: "s", Nodes: c.nodes, Pods: c.pods, Book: c.book,
		Rules: snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}})
}

// fitsByAmounts says whether there are enough of the devices that are no bins.
func (c *binCluster) fitsByAmounts(needs resources.Vector, node string) bool {
	return needs.Equal(needs.WithoutDevices()) || needs.FitsIn(c.snapshot().Free()[node])
}

// arrival is what the scheduler gives to a pod that comes to a node: no devices at all if it does not fit.
type arrival struct {
	Pod     string  `json:"pod"`
	Node    string  `json:"node"`
	Devices []int32 `json:"devices"`
}

// compare has pods come one after the other, to the cluster and to what a snapshot tells of it.
func (c *binCluster) compare() {
	for range 1 + c.IntN(6) {
		c.add(c.newPod(), "")
	}
	seen := c.snapshot()
	classes, requests := map[string]*contract.PodClass{}, map[string]*contract.DeviceRequest{}
	for _, one := range seen.Message.PodClasses {
		classes[one.Id] = one
	}
	for _, one := range seen.Message.DeviceRequests {
		requests[one.Id] = one
	}
	left := map[string]*testobjects.DevicesLeft{}
	for _, node := range c.nodes {
		left[node.Name] = testobjects.DevicesLeftOn(node.Name, seen.Message)
	}
	var arrivals []arrival
	for _, pod := range slices.Clone(c.pods) {
		node := some(c.binFleet, c.nodes...)
		class := classes[seen.Pods[pod.UID].Class]
		switch {
		case pod.Spec.NodeName != "":
			continue
		case len(class.Unsupported) > 0:
			c.counts["refused: "+strings.Fields(class.Unsupported[0])[0]]++
			continue
		}
		var asked []*contract.DeviceRequest
		for _, id := range class.DeviceRequests {
			asked = append(asked, requests[id])
		}
		byAmounts := c.fitsByAmounts(seen.Pods[pod.UID].Requests, node.Name)
		fits, chosen := byAmounts, []testobjects.ChosenDevice(nil)
		if fits && len(asked) > 0 {
			if fits = left[node.Name] != nil; fits {
				chosen, fits = left[node.Name].Allocate(asked)
			}
		}
		c.tell("%s asks for %v on %s, and is to get %v: %t", pod.Name, class.DeviceRequests, node.Name, chosen, fits)
		claims := c.allocated(pod, node)
		if fits != (claims != nil) {
			c.Errorf("%s on %s fits: %t, and the allocator gives %v", pod.Name, node.Name, fits, resultsOf(claims))
			return
		}
		if !fits {
			c.counts["pods that do not fit"]++
			if byAmounts {
				arrivals = append(arrivals, arrival{pod.Name, node.Name, []int32{}})
			}
			continue
		}
		c.add(pod, node.Name)
		c.compareDevices(pod, node.Name, chosen, claims, &arrivals)
	}
	c.compareHoldings(left)
	if *caseFiles != "" && len(arrivals) >= fewestArrivals && c.counts["cases"] < mostCases {
		c.write(seen.Message, arrivals)
	}
}

func resultsOf(claims []*resourceapi.ResourceClaim) (all []resourceapi.DeviceRequestAllocationResult) {
	for _, claim := range claims {
		all = append(all, claim.Status.Allocation.Devices.Results...)
	}
	return all
}

// compareDevices compares the devices of the pod with those that were foretold.
func (c *binCluster) compareDevices(pod *v1.Pod, node string, chosen []testobjects.ChosenDevice, claims []*resourceapi.ResourceClaim, arrivals *[]arrival) {
	c.counts["pods that fit"]++
	layout, at := c.book.Layout(node), 0
	made := arrival{pod.Name, node, []int32{}}
	for _, result := range resultsOf(claims) {
		device := slices.Index(layout.Names, resources.DeviceName(&result))
		if device < 0 {
			c.counts["devices by amounts"]++
			continue
		}
		made.Devices = append(made.Devices, int32(device)) // few
		if at == len(chosen) || chosen[at].Device != device {
			c.Errorf("%s on %s gets %v, and not what is foretold", pod.Name, node, resultsOf(claims))
			return
		}
		c.counts["devices by bins"]++
		at++
	}
	if len(made.Devices) > 0 {
		*arrivals = append(*arrivals, made)
	}
}

// compareHoldings compares what nodes have left with what a snapshot tells, now that the pods are there.
func (c *binCluster) compareHoldings(left map[string]*testobjects.DevicesLeft) {
	after := c.snapshot()
	for _, node := range c.nodes {
		if want, got := left[node.Name], testobjects.DevicesLeftOn(node.Name, after.Message); !reflect.DeepEqual(got, want) {
			c.tell("left on %s are %v, and %v in a new snapshot", node.Name, want, got)
			c.Errorf("what is held on %s is told otherwise than it was allocated", node.Name)
		}
	}
}

// write has the case be a file.
func (c *binCluster) write(message *contract.Snapshot, arrivals []arrival) {
	encoded, err := protojson.Marshal(message)
	c.must(err)
	text, err := json.Marshal(map[string]any{"snapshot": json.RawMessage(encoded), "arrivals": arrivals})
	c.must(err)
	if len(text) > largestCase {
		return
	}
	c.counts["cases"]++
	c.must(os.WriteFile(filepath.Join(*caseFiles, fmt.Sprintf("first-fit-%03d.json", c.counts["cases"])), append(text, '\n'), 0o600))
}

// manager shows a fleet as the scheduler sees it.
type manager struct {
	fwk.SharedDRAManager
	*binFleet
}

func (m manager) ResourceSlices() fwk.ResourceSliceLister                 { return m }
func (m manager) DeviceClasses() fwk.DeviceClassLister                    { return m }
func (m manager) DeviceClassResolver() fwk.DeviceClassResolver            { return m }
func (m manager) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }
func (m manager) List() ([]*resourceapi.DeviceClass, error)               { return nil, nil }

func (m manager) ListWithDeviceTaintRules() ([]*resourceapi.ResourceSlice, error) {
	return m.slices, nil
}

func (m manager) Get(name string) (*resourceapi.DeviceClass, error) {
	return m.classes[name], nil
}
