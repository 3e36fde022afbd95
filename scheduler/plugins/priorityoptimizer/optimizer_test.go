package priorityoptimizer

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
)

// script is what the scripted optimiser does with a request.
type script func(request *contract.SolveRequest, stream *call) error

// optimizer is a real gRPC server on a real Unix socket with scripted answers.
type optimizer struct {
	contract.UnimplementedOptimizerServer
	socket string
	server *grpc.Server

	mu       sync.Mutex
	script   script
	requests []*contract.SolveRequest
	// calls are those that the plugin waits for, by snapshot.
	calls map[string]*call
}

func startOptimizer(t *testing.T, does script) *optimizer {
	t.Helper()
	folder, err := os.MkdirTemp("", "so") //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
	testobjects.Must(t, err)
	o := &optimizer{socket: filepath.Join(folder, "s"), server: grpc.NewServer(), script: does}
	listener, err := net.Listen("unix", o.socket)
	testobjects.Must(t, err)
	contract.RegisterOptimizerServer(o.server, o)
	go func() { _ = o.server.Serve(listener) }()
	t.Cleanup(func() { o.server.Stop(); _ = os.RemoveAll(folder) })
	return o
}

// Solve answers by the script.
func (o *optimizer) Solve(request *contract.SolveRequest, stream grpc.ServerStreamingServer[contract.SolveUpdate]) error {
	o.mu.Lock()
	o.requests = append(o.requests, request)
	does, answering := o.script, o.calls[request.Snapshot.Id]
	o.mu.Unlock()
	if answering == nil {
		return context.Canceled // the plugin no longer waits
	}
	answering.ServerStreamingServer = stream
	return does(request, answering)
}

// isAtWork says that an answer is being made or is on its way. How much real time that takes depends on the load of the
// machine, so it must take no time of the fake clock: a time limit would end before the answer could come.
func (o *optimizer) isAtWork() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.calls {
		if !one.rests.Load() || one.sent.Load() > one.taken.Load() {
			return true
		}
	}
	return false
}

// call is what the plugin and the script share of one request.
type call struct {
	grpc.ServerStreamingServer[contract.SolveUpdate]
	// sent and taken count the plans that the script has sent and the plugin has read.
	sent, taken atomic.Int32
	rests       atomic.Bool
}

// Send sends an update to the plugin.
func (c *call) Send(update *contract.SolveUpdate) error {
	c.sent.Add(1)
	return c.ServerStreamingServer.Send(update)
}

// rest lets the fake clock flow until something happens.
func (c *call) rest(until <-chan struct{}) {
	c.rests.Store(true)
	defer c.rests.Store(false)
	<-until
}

// watchedSolver tells the scripted optimiser what the plugin waits for.
type watchedSolver struct {
	planning.Solver
	asks *optimizer
}

// Solve asks the optimiser.
func (s watchedSolver) Solve(
	ctx context.Context, request *contract.SolveRequest, verify func(*contract.Plan) error,
) (*contract.SolveUpdate, error) {
	waitsFor := &call{}
	s.asks.mu.Lock()
	if s.asks.calls == nil {
		s.asks.calls = map[string]*call{}
	}
	s.asks.calls[request.Snapshot.Id] = waitsFor
	s.asks.mu.Unlock()
	defer func() {
		s.asks.mu.Lock()
		defer s.asks.mu.Unlock()
		delete(s.asks.calls, request.Snapshot.Id)
	}()
	return s.Solver.Solve(ctx, request, func(better *contract.Plan) error {
		defer waitsFor.taken.Add(1)
		return verify(better)
	})
}

func (o *optimizer) asked() int { return len(o.received()) }

// received are the requests so far.
func (o *optimizer) received() []*contract.SolveRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.requests)
}

// silent never answers.
func silent(_ *contract.SolveRequest, stream *call) error {
	stream.rest(stream.Context().Done())
	return stream.Context().Err()
}

// nothing proves that nothing can be gained.
func nothing(request *contract.SolveRequest, stream *call) error {
	return stream.Send(&contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_NO_IMPROVEMENT,
		Plan: &contract.Plan{SnapshotId: request.Snapshot.Id, Optimal: true}})
}

// pausing answers as the script does, but only from when goOn is called.
func pausing(does script) (paused script, goOn func()) {
	over := make(chan struct{})
	return func(request *contract.SolveRequest, stream *call) error {
		stream.rest(over)
		return does(request, stream)
	}, func() { close(over) }
}

// answers makes a script of a function from snapshots to plans.
func answers(plan func(*contract.Snapshot) *contract.Plan) script {
	return func(request *contract.SolveRequest, stream *call) error {
		answer := plan(request.Snapshot)
		answer.SnapshotId = request.Snapshot.Id
		return stream.Send(&contract.SolveUpdate{Last: true, Plan: answer, Strategy: "scripted",
			EndReason: contract.EndReason_END_REASON_OPTIMAL})
	}
}

// solveFigureOne moves the pod of ReplicaSet one beside two and gives its node to the waiting
// pods; once nothing waits, nothing is to be gained.
func solveFigureOne(snapshot *contract.Snapshot) *contract.Plan {
	owners := map[string]string{}
	for _, class := range snapshot.PodClasses {
		owners[class.Id] = class.GetOwner().GetName()
	}
	byOwner := map[string]*contract.Pod{}
	plan := &contract.Plan{Optimal: true}
	for _, pod := range snapshot.Pods {
		byOwner[owners[pod.ClassId]] = pod
	}
	one, two, three := byOwner["one"], byOwner["two"], byOwner["three"]
	if one == nil || two == nil || three == nil || three.Node != "" || one.Node == two.Node {
		return plan
	}
	plan.Moves = []*contract.Move{{PodUid: one.Uid, FromNode: one.Node, ToNode: two.Node}}
	plan.Placements = []*contract.Placement{{PodUid: three.Uid, Node: one.Node}}
	return plan
}

// figureOne starts the paper's figure 1: two nodes of 4 GB, pods of 2, 2 and 3 GB in sequence. Without a script it is
// solved.
func figureOne(t *testing.T, does script, setting func(*cluster)) *cluster {
	t.Helper()
	if does == nil {
		does = answers(solveFigureOne)
	}
	c := startCluster(t, does, setting, testNode("n1", 4), testNode("n2", 4), testobjects.Lease("system", "stowage", "me"))
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 3, 0))
	c.await("the third pod is known", func() bool {
		return len(c.plugin.view.Snapshot("").Pods) == 3
	}, false)
	return c
}

// The paper's example, whole: the third pod fits once another one has moved.
func TestFigureOneEndsWithAllPodsPlaced(t *testing.T) {
	c := figureOne(t, nil, nil)

	c.reaches(packingplan.Completed)

	one, two, three := c.nodesOf("one"), c.nodesOf("two"), c.nodesOf("three")
	if len(one) != 1 || len(two) != 1 || len(three) != 1 || one[0] != two[0] || three[0] == "" || three[0] == one[0] {
		t.Errorf("one on %v, two on %v, three on %v", one, two, three)
	}
	if got := c.evictions(); len(got) != 1 || got[0] != "one" {
		t.Errorf("evicted %v, want one alone", got)
	}
	status := c.plansOf()[0].Status
	if len(status.Moves()) != 1 || status.Moves()[0].State != "Bound" || !status.Optimal || status.EndReason != "OPTIMAL" {
		t.Errorf("status = %+v", status)
	}
}

// flow advances the fake clock, unless the optimiser is at work.
func (c *cluster) flow(step time.Duration) {
	if !c.optimizer.isAtWork() {
		c.clock.Step(step)
	}
}
