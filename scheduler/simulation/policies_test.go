package simulation_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/simulation"
)

// emptier is an optimiser that empties the node with the fewest pods, into the fullest ones that have room for one more pod
// of at most ten.
type emptier struct {
	contract.UnimplementedOptimizerServer
}

func (emptier) Solve(request *contract.SolveRequest, stream grpc.ServerStreamingServer[contract.SolveUpdate]) error {
	on := map[string][]*contract.Pod{}
	for _, pod := range request.Snapshot.Pods {
		if pod.Node != "" {
			on[pod.Node] = append(on[pod.Node], pod)
		}
	}
	nodes := slices.SortedFunc(maps.Keys(on), func(a, b string) int {
		if count := len(on[a]) - len(on[b]); count != 0 {
			return count
		}
		return strings.Compare(a, b)
	})
	plan := &contract.Plan{SnapshotId: request.Snapshot.Id, NodesInUse: &contract.NodesInUse{Before: int32(len(nodes)), After: int32(len(nodes)), LowerBound: 1}}
	if len(nodes) > 1 && len(on[nodes[0]])+len(on[nodes[len(nodes)-1]]) <= 10 {
		from, to := nodes[0], nodes[len(nodes)-1]
		for _, pod := range on[from] {
			plan.Moves = append(plan.Moves, &contract.Move{PodUid: pod.Uid, FromNode: from, ToNode: to})
		}
		plan.NodesInUse.After--
		plan.NodesInUse.MovesLowerBound = int32(len(on[from]))
	}
	return stream.Send(&contract.SolveUpdate{Last: true, Plan: plan, Strategy: "emptier",
		EndReason: contract.EndReason_END_REASON_OPTIMAL})
}

// startEmptier serves it and returns its socket.
func startEmptier(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "so") //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
	testobjects.Must(t, err)
	socket, server := filepath.Join(folder, "s"), grpc.NewServer()
	listener, err := net.Listen("unix", socket)
	testobjects.Must(t, err)
	contract.RegisterOptimizerServer(server, emptier{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); _ = os.RemoveAll(folder) })
	return socket
}

// optimizingSimulator has the profile with the optimiser.
func optimizingSimulator(t *testing.T, socket string) *simulation.Simulator {
	t.Helper()
	configuration, err := simulation.LoadConfiguration(filepath.Join(profileFolder, "optimizer-deterministic.yaml"))
	testobjects.Must(t, err)
	arguments := fmt.Sprintf(`{"socket":%q,"minPodAgeSeconds":1,"coolDownSeconds":600,"trigger":"Manual"}`, socket)
	configuration.Profiles[0].PluginConfig = append(configuration.Profiles[0].PluginConfig, config.PluginConfig{
		Name: priorityoptimizer.Name, Args: &runtime.Unknown{Raw: []byte(arguments), ContentType: runtime.ContentTypeJSON}})
	simulator, err := simulation.NewInVirtualTime(t.Context(), configuration, plugins.Registry())
	testobjects.Must(t, err)
	return simulator
}

// passDay has a story pass in the profile with the optimiser.
func passDay(t *testing.T, socket, story string) day {
	t.Helper()
	found := pass(t, optimizingSimulator(t, socket), story)
	if found.failed > 0 {
		t.Fatal(found.text)
	}
	return found
}

func pricedNodeAt(at float64, name, price string) string {
	return fmt.Sprintf(`{"at":%v,"node":{"metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q,"stowage.dev/hourly-price":%q}},`+
		`"status":{"allocatable":{"cpu":"10","pods":"10"}}}}`, at, name, name, price)
}

// quietDay has two pods of a ReplicaSet left on each of two nodes, a window from ten past midnight until half past, and an
// hour after that.
func quietDay(settings string) string {
	lines := []string{
		`{"at":0,"settings":{"began":"2026-01-05T00:00:00Z"` + settings + `}}`,
		pricedNodeAt(0, "n", "0.5"), pricedNodeAt(0, "m", "0.25"),
		webTemplate, budget(`"maxUnavailable":2`),
		`{"at":0,"policy":{"metadata":{"name":"nightly"},"spec":{"approval":"Automatic","objective":"Consolidate",` +
			`"windows":[{"schedule":"10 0 * * *","durationSeconds":1200}]}}}`,
	}
	for i, node := range []string{"n", "n", "m", "m", "m"} {
		lines = append(lines, podAt(1, fmt.Sprint("p", i), "web", fmt.Sprintf(`%s,"node":%q`, owned, node)))
	}
	return story(append(lines, `{"at":5400}`)...)
}

// TestAPolicyEmptiesANodeInItsWindow: a policy is tried on a day before it is let loose on a cluster.
func TestAPolicyEmptiesANodeInItsWindow(t *testing.T) {
	found := passDay(t, startEmptier(t), quietDay(`,"startsAfter":30,"emptiedNodesGoAfter":600`))

	if len(found.windows) != 1 || found.windows[0].Phase != packingpolicy.Closed || found.windows[0].NodesEmptied != 1 ||
		found.windows[0].Moves != 2 || found.windows[0].HourlySaving != "0.5" {
		t.Errorf("one window should have emptied the node that costs more by two moves: %+v", found.windows)
	}
	if len(found.plans) == 0 || found.plans[0].Policy != "nightly" || found.plans[0].Status.Phase != packingplan.Completed ||
		found.plans[0].At < 600 || found.plans[0].At > 700 {
		t.Errorf("the first plan should be completed soon after 600: %+v", found.plans)
	}
	if moves := found.plans[0].Status.Lists.Moves; len(moves) == 0 || moves[0].ToNode == "" || moves[0].State != packingplan.Bound {
		t.Errorf("the first plan should name its moves, as its object does: %+v", moves)
	}
	if len(found.gone) != 1 || found.gone[0].Node != "n" || found.gone[0].At < 1200 || found.passed.NodeHoursSaved <= 1 {
		t.Errorf("the node should go ten minutes later: %+v, %+v", found.gone, found.passed)
	}
	if got := found.passed.Evictions; got == nil || *got != (simulation.Evictions{Evicted: 2, Refused: got.Refused}) {
		t.Errorf("two evictions and nothing broken: %+v", got)
	}
	if len(found.policies) != 1 || found.policies[0].Status.NodesEmptied != 1 {
		t.Errorf("the policy's status should say so: %+v", found.policies)
	}
}

// TestAPolicyGoesOnWhenItsProcessIsKilled: no window is lost or run twice, and what was half done is finished.
func TestAPolicyGoesOnWhenItsProcessIsKilled(t *testing.T) {
	socket, day := startEmptier(t), quietDay(`,"startsAfter":30`)
	whole := passDay(t, socket, day)
	for _, at := range []float64{599, 600, 600.01, 600.5, 601.03, 602, 620, 635, 1000} {
		killed := passDay(t, socket, strings.Replace(day, `{"at":5400}`, fmt.Sprintf(`{"at":%v,"restart":true}`+"\n"+`{"at":5400}`, at), 1))

		if len(killed.windows) != 1 || killed.windows[0].Phase != packingpolicy.Closed ||
			killed.windows[0].Moves != whole.windows[0].Moves || killed.windows[0].NodesEmptied != whole.windows[0].NodesEmptied {
			t.Errorf("killed at %v: %+v; else %+v", at, killed.windows, whole.windows)
		}
		if status := killed.policies[0].Status; status.Moves != 2 || status.NodesEmptied != 1 || len(status.Windows) != 1 {
			t.Errorf("killed at %v, the status is %+v", at, status)
		}
		if got := killed.passed.Evictions; got == nil || got.Evicted != 2 || got.BudgetsBroken != 0 || got.WithinCoolDown != 0 {
			t.Errorf("killed at %v: %+v", at, got)
		}
	}
}

// TestADayWithAPolicyIsTheSameEachTime: two policies are compared on one day, and only what they do may differ.
func TestADayWithAPolicyIsTheSameEachTime(t *testing.T) {
	socket, story := startEmptier(t), quietDay(`,"startsAfter":5`)
	lines := func() string {
		kept, _, _ := strings.Cut(passDay(t, socket, story).text, `{"passed"`) // which tells the processor time
		return kept
	}
	if first, second := lines(), lines(); first != second {
		t.Errorf("once\n%s\nand once\n%s", first, second)
	}
}

// TestNoTimePassesWithoutTheOptimizer: a day without it is that of another scheduler.
func TestNoTimePassesWithoutTheOptimizer(t *testing.T) {
	found := pass(t, optimizingSimulator(t, "/nowhere"), quietDay(""))
	if found.failed != 1 || !strings.Contains(found.text, "optimiser not reachable on /nowhere") {
		t.Errorf("%d failed: %s", found.failed, found.text)
	}
}

// TestAPolicyNeedsAProfileThatMakesPlans: else nobody would look at it, and the day would say that it saves nothing.
func TestAPolicyNeedsAProfileThatMakesPlans(t *testing.T) {
	_, passed := become(t, "default", quietDay(""))
	if want := "line 6: policy nightly: the profile has no optimiser"; !strings.HasPrefix(passed.Error, want) {
		t.Errorf("got %q, want %q", passed.Error, want)
	}
}
