package fakecluster_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// optimizer answers with random plans that keep the contract.
type optimizer struct {
	contract.UnimplementedOptimizerServer
	socket string
	// cluster is the one of the present run. A request is only made, and answered, while its test waits for it.
	cluster *cluster
}

func startOptimizer(t *testing.T) *optimizer {
	t.Helper()
	folder, err := os.MkdirTemp("", "so") //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
	testobjects.Must(t, err)
	o, server := &optimizer{socket: filepath.Join(folder, "s")}, grpc.NewServer()
	listener := testobjects.Value(net.Listen("unix", o.socket))(t)
	contract.RegisterOptimizerServer(server, o)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); _ = os.RemoveAll(folder) })
	return o
}

// Solve answers with a plan, or with none.
func (o *optimizer) Solve(request *contract.SolveRequest, stream grpc.ServerStreamingServer[contract.SolveUpdate]) error {
	c := o.cluster
	c.during()
	answer := &contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_NO_IMPROVEMENT, Plan: &contract.Plan{}}
	for tries := 0; tries < 20 && !c.quiet; tries++ {
		if found := randomPlan(c.random, request.Snapshot); found != nil {
			if c.units != nil {
				unite(c.units, found, request.Snapshot)
			}
			answer.Plan, answer.EndReason = found, contract.EndReason_END_REASON_TIME_LIMIT
			break
		}
	}
	answer.Plan.SnapshotId = request.Snapshot.Id
	return stream.Send(answer)
}

// randomPlan puts the pods that may move anywhere, in random order but those of the highest priority first, after one pod
// that waits. It returns nil if that pod, or one of at least its priority that runs, has no room.
func randomPlan(random *rand.Rand, of *contract.Snapshot) *contract.Plan {
	classes := map[string]*contract.PodClass{}
	for _, class := range of.PodClasses {
		classes[class.Id] = class
	}
	free := map[string]room{}
	for _, node := range of.Nodes {
		free[node.Name] = room{node.Allocatable.CpuMilli, node.Allocatable.MemoryBytes}
	}
	change := func(node string, pod *contract.Pod, sign int64) {
		asks := classes[pod.ClassId].Requests
		left := free[node]
		free[node] = room{left[0] - sign*asks.CpuMilli, left[1] - sign*asks.MemoryBytes}
	}
	var waiting, movable []*contract.Pod
	for _, pod := range of.Pods {
		switch {
		case pod.Node == "":
			waiting = append(waiting, pod)
		case pod.Movable && random.IntN(3) > 0:
			movable = append(movable, pod)
		default:
			change(pod.Node, pod, 1)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	priority := func(pod *contract.Pod) int32 { return classes[pod.ClassId].Priority }
	highest := slices.MaxFunc(waiting, func(a, b *contract.Pod) int { return int(priority(a) - priority(b)) })
	movable = slices.DeleteFunc(movable, func(pod *contract.Pod) bool {
		stays := priority(pod) > priority(highest)
		if stays {
			change(pod.Node, pod, 1)
		}
		return stays
	})
	random.Shuffle(len(movable), func(i, j int) { movable[i], movable[j] = movable[j], movable[i] })
	slices.SortStableFunc(movable, func(a, b *contract.Pod) int { return int(priority(b) - priority(a)) })
	plan := &contract.Plan{}
	for _, pod := range slices.Concat([]*contract.Pod{highest}, movable, waiting) {
		if pod == highest && len(plan.Placements) > 0 {
			continue
		}
		node := someNode(random, free, classes[pod.ClassId].Requests)
		if node != "" {
			change(node, pod, 1)
		}
		switch {
		case pod.Node == "" && node != "":
			plan.Placements = append(plan.Placements, &contract.Placement{PodUid: pod.Uid, Node: node})
		case pod == highest, node == "" && pod.Node != "" && priority(pod) >= priority(highest):
			return nil
		case pod.Node == node:
		case node == "":
			plan.Evictions = append(plan.Evictions, &contract.Eviction{PodUid: pod.Uid, Node: pod.Node})
		default:
			plan.Moves = append(plan.Moves, &contract.Move{PodUid: pod.Uid, FromNode: pod.Node, ToNode: node})
		}
	}
	return plan
}

// unite makes units of some classes, alone or together. None of a unit's pods is left unplaced.
func unite(random *rand.Rand, plan *contract.Plan, of *contract.Snapshot) {
	classes, units, evicted := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, pod := range of.Pods {
		classes[pod.Uid] = pod.ClassId
	}
	for _, eviction := range plan.Evictions {
		evicted[classes[eviction.PodUid]] = true
	}
	name := ""
	for i, class := range of.PodClasses {
		switch random.IntN(3) {
		case 0:
			name = ""
		case 1:
			name = fmt.Sprint("unit-", i)
		}
		if !evicted[class.Id] {
			units[class.Id] = name
		}
	}
	for _, placement := range plan.Placements {
		placement.Unit = units[classes[placement.PodUid]]
	}
	for _, move := range plan.Moves {
		move.Unit = units[classes[move.PodUid]]
	}
}

// someNode is any node with that much room, or "".
func someNode(random *rand.Rand, free map[string]room, asks *contract.Resources) string {
	nodes := slices.Sorted(maps.Keys(free))
	for _, i := range random.Perm(len(nodes)) {
		if left := free[nodes[i]]; asks.CpuMilli <= left[0] && asks.MemoryBytes <= left[1] {
			return nodes[i]
		}
	}
	return ""
}
