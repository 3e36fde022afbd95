package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
)

// addRequests adds those of the pod's class to the snapshot. Of a pod that is left alone, what it holds is told, and nothing
// of what it asks for.
func (c *classes) addRequests(of *contract.PodClass, pod *v1.Pod) {
	if len(of.Unsupported) > 0 {
		of.DeviceRequests = nil
	}
	if len(of.DeviceRequests) == 0 {
		return
	}
	for _, request := range c.book.Requests(pod) {
		c.requests[request.Id] = request
	}
}

// requestMessages are those of all requests, in order.
func (c *classes) requestMessages() []*contract.DeviceRequest {
	return slices.SortedFunc(maps.Values(c.requests), func(a, b *contract.DeviceRequest) int { return cmp.Compare(a.Id, b.Id) })
}

// largestWorth is the most that the optimiser takes: more devices than a node has.
const largestWorth = 1 << 11

// worthOf is what a pod counts that asks for so many hundredths of devices. 0 is 1, so that a pod without devices is placed
// where it costs none.
func worthOf(hundredths int64) int64 { return min(hundredths, largestWorth) }

// Counted is so much of what the pods of a tier count, in words.
func (s *Snapshot) Counted(worth int64) string {
	if s.CountsDevices {
		return InDevices(worth) + " " + s.Counts()
	}
	return strconv.FormatInt(worth, 10) + " " + s.Counts()
}

// Counts is what is counted, in a word.
func (s *Snapshot) Counts() string {
	if s.CountsDevices {
		return "devices"
	}
	return "pods"
}

// InDevices are so many hundredths as a number of devices.
func InDevices(hundredths int64) string {
	return strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64)
}

// addDevices adds the devices that pods share or that overlap, and who holds them. A node of which this cannot be told, or not
// within the size limits, takes no pods that ask for such devices.
func (s *Snapshot) addDevices(cache *Cache) {
	layouts := map[string]*contract.DeviceLayout{}
	for _, message := range s.Message.Nodes {
		if layout := cache.nodes.now[message.Name].to.layout; layout != nil {
			layouts[layout.Id] = layout
		}
	}
	if len(layouts) == 0 {
		return
	}
	all := slices.SortedFunc(maps.Values(layouts), func(a, b *contract.DeviceLayout) int { return cmp.Compare(a.Id, b.Id) })
	fit(converted(all, func(one *contract.DeviceLayout) int { return proto.Size(one) }), largestLayouts, func(i int) int {
		delete(layouts, all[i].Id)
		return 0
	})
	pods := s.podsByNode()
	used := map[string]*contract.DeviceLayout{}
	for i, message := range s.Message.Nodes {
		if message.DeviceLayout == "" {
			continue
		}
		held, told := cache.book.Holdings(message.Name, pods[message.Name])
		if layout := layouts[message.DeviceLayout]; layout == nil || !told {
			s.omitted.add(heldDevices, 1)
			s.Message.Nodes[i] = proto.CloneOf(message) // that of the node is kept from snapshot to snapshot
			s.Message.Nodes[i].DeviceLayout = ""
			continue
		}
		used[message.DeviceLayout] = layouts[message.DeviceLayout]
		slices.SortStableFunc(held, func(a, b *contract.DeviceHolding) int {
			return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.PodUid, b.PodUid))
		})
		s.Message.DeviceHoldings = append(s.Message.DeviceHoldings, held...)
	}
	s.Message.DeviceLayouts = slices.SortedFunc(maps.Values(used), func(a, b *contract.DeviceLayout) int {
		return cmp.Compare(a.Id, b.Id)
	})
}

// DevicesOf are the names, in the cluster, of the node's devices that pods share or that overlap, in the order of its layout.
func (s *Snapshot) DevicesOf(node string) []string { return s.book.Layout(node).Names }

// podsByNode are the pods that have a node.
func (s *Snapshot) podsByNode() map[string][]*v1.Pod {
	pods := map[string][]*v1.Pod{}
	for _, pod := range s.Pods {
		if pod.Node != "" {
			pods[pod.Node] = append(pods[pod.Node], pod.Object)
		}
	}
	return pods
}

// holdingLines tell which devices the classes hold, but for pods that come to these nodes or leave.
func (s *Snapshot) holdingLines(nodes map[types.UID]string) []string {
	lines := make([]string, 0, len(s.Message.DeviceHoldings))
	for _, one := range s.Message.DeviceHoldings {
		pod := s.Pods[types.UID(one.PodUid)]
		if pod != nil {
			if to, changed := nodes[pod.Object.UID]; changed && to != pod.Node {
				continue
			}
			one = proto.CloneOf(one)
			one.PodUid = pod.Class
		}
		encoded, _ := marshalled(one)
		lines = append(lines, string(encoded))
	}
	slices.Sort(lines)
	return lines
}
