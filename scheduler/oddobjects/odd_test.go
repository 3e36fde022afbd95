package oddobjects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/simulation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	objectsASnapshot = 400
	// limit is enough for most snapshots; a solve that is late, as on a busy machine, is repeated once with lateLimit.
	limit     = 500 * time.Millisecond
	lateLimit = time.Minute
)

// No pod, node, budget, volume or reservation that Kubernetes accepts may switch the optimiser off, crash the
// scheduler's side, or make a plan that the scheduler refuses. OBJECTS and SEED are the run's, FROM the snapshot
// to begin with.
func TestLegalOddObjectsSwitchNothingOff(t *testing.T) {
	objects, seed, from := number(t, "OBJECTS", 4000), number(t, "SEED", 1), number(t, "FROM", 0)
	t.Logf("%d objects, seed %d", objects, seed)
	began, total := time.Now(), newCount()
	var next, thrown atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		client := startOptimizer(t)
		workers.Go(func() {
			r := &run{t: t, client: client, cache: &snapshot.Cache{}, count: newCount()}
			for !t.Failed() && thrown.Load() < int64(objects) {
				batch := from + int(next.Add(1)) - 1
				before := r.count.thrown
				r.batch(generator{rand.New(rand.NewPCG(uint64(seed), uint64(batch)))}, fmt.Sprintf("seed-%d-snapshot-%d", seed, batch))
				thrown.Add(int64(r.count.thrown - before))
			}
			total.add(r.count)
		})
	}
	workers.Wait()
	t.Logf("seed %d: %d objects in %s, %.0f a second; %s", seed, total.thrown, time.Since(began).Round(time.Second),
		float64(total.thrown)/time.Since(began).Seconds(), total)
	if total.plans == 0 {
		t.Error("no plan was made: nothing was tried")
	}
}

func number(t *testing.T, name string, standard int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return standard
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// run sends one snapshot after the other to an optimiser of its own.
type run struct {
	t      *testing.T
	client *optimizerclient.Client
	cache  *snapshot.Cache
	count  *count
}

func (r *run) batch(g generator, id string) {
	c := g.newCluster(objectsASnapshot, r.count)
	first, second := g.Uint64(), g.Uint64()
	again := generator{rand.New(rand.NewPCG(first, second))}
	taken := c.snapshot(generator{rand.New(rand.NewPCG(first, second))}, id, r.cache)
	r.count.snapshots++
	fail := func(format string, args ...any) {
		r.t.Errorf("%s: %s; see %s", id, fmt.Sprintf(format, args...), written(id, taken.Message))
	}
	if fresh := c.snapshot(again, id, nil); fresh.Fingerprint() != taken.Fingerprint() {
		fail("the snapshot from a cache is another one")
	}
	answer := r.solve(taken)
	fine := []contract.EndReason{contract.EndReason_END_REASON_OPTIMAL, contract.EndReason_END_REASON_TIME_LIMIT,
		contract.EndReason_END_REASON_NO_IMPROVEMENT}
	if !slices.Contains(fine, answer.EndReason) || answer.Plan == nil {
		fail("%s: %.2000s", answer.EndReason, answer.Message)
		return
	}
	checked, err := plan.Decode(answer.Plan, taken, plan.Strict)
	var refused *plan.RefusedError
	switch {
	case errors.As(err, &refused) && refused.Reason == plan.UnjustEviction && forThoseWhoNeverPreempt(taken, answer.Plan):
		return // the optimiser cannot know this; the plugin adds it as a constraint
	case err != nil:
		fail("the plan is refused: %v", err)
		return
	case checked.Empty():
		return
	}
	r.count.plans++
	r.begin(checked, taken)
}

// solve asks about a snapshot, and once more with more time where the answer was late.
func (r *run) solve(taken *snapshot.Snapshot) *contract.SolveUpdate {
	answer := r.ask(taken, limit)
	if answer.Plan == nil && isLate(answer) {
		r.count.late++
		answer = r.ask(taken, lateLimit)
	}
	r.count.ends[answer.EndReason.String()]++
	return answer
}

// ask sends one solve to the optimiser.
func (r *run) ask(taken *snapshot.Snapshot, limit time.Duration) *contract.SolveUpdate {
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	answer, err := r.client.Solve(ctx, &contract.SolveRequest{Snapshot: taken.Message,
		Options: &contract.SolveOptions{TimeLimitS: limit.Seconds(), Workers: 1}}, func(*contract.Plan) error { return nil })
	if err != nil {
		return &contract.SolveUpdate{Message: err.Error()}
	}
	return answer
}

// isLate distinguishes a busy machine from an error: a repeated solve has all the time that it needs.
func isLate(answer *contract.SolveUpdate) bool {
	return answer.EndReason == contract.EndReason_END_REASON_TIME_LIMIT ||
		strings.Contains(answer.Message, "did not get ready: none was started in time")
}

func forThoseWhoNeverPreempt(taken *snapshot.Snapshot, of *contract.Plan) bool {
	return slices.ContainsFunc(taken.Waiting(plan.StepsOf(of, taken)), (*snapshot.Pod).NeverPreempts)
}

// begin takes the plan's first steps.
func (r *run) begin(checked *plan.Plan, taken *snapshot.Snapshot) {
	execution, free := executor.New(checked, taken.Free(), 1), taken.Free()
	for _, departure := range execution.Next(free) {
		uid := departure.Pod.Object.UID
		execution.Opened(uid)
		execution.Evicted(uid)
		execution.Gone(uid)
	}
	room := func(node string) resources.Vector { return free[node] }
	for _, placement := range checked.Placements {
		if _, planned := execution.Nodes(placement.Pod.Object, room); !planned {
			r.t.Errorf("%s: a pod of the plan is none of its business", taken.ID)
		}
	}
}

func written(id string, message proto.Message) string {
	path := filepath.Join(os.TempDir(), "stowage-"+id+".json")
	text, err := protojson.Marshal(message)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return err.Error()
	}
	return path
}

// schedulers is for how many snapshots the whole scheduler is started in the ordinary tests.
const schedulers = 3

// The scheduler with all its plugins has the same objects in its informers, takes the snapshot from them, and rehearses
// the plan: it must not crash, nor reject the plan for any reason other than a plugin's refusal.
func TestTheWholeSchedulerTakesLegalOddObjects(t *testing.T) {
	seed, client := number(t, "SEED", 1), startOptimizer(t)
	configuration := testobjects.Value(simulation.LoadConfiguration("../../charts/stowage/profiles/deterministic.yaml"))(t)
	simulator := testobjects.Value(simulation.New(context.Background(), configuration, plugins.Registry()))(t)
	r := &run{t: t, client: client, cache: &snapshot.Cache{}, count: newCount()}
	for batch := range schedulers {
		g := generator{rand.New(rand.NewPCG(uint64(seed), uint64(batch)))}
		question := g.newCluster(objectsASnapshot, r.count).question(fmt.Sprintf("scheduler-%d-%d", seed, batch))
		answered := answerTo(t, simulator, question)
		message := &contract.Snapshot{}
		testobjects.Must(t, protojson.Unmarshal(answered.Snapshot, message))
		answer := r.ask(&snapshot.Snapshot{ID: message.Id, Message: message}, lateLimit)
		if answer.Plan == nil {
			t.Fatalf("%s: %s: %.2000s; see %s", question.ID, answer.EndReason, answer.Message, written(question.ID, message))
		}
		text := testobjects.Value(protojson.Marshal(answer.Plan))(t)
		question.Plans = []json.RawMessage{text}
		verdict := answerTo(t, simulator, question).Verdicts[0]
		// The optimiser gets other plugins' refusals, and pods that never preempt, as constraints in a further round.
		if !slices.Contains([]string{"", "rehearsal", "stale", string(plan.UnjustEviction)}, verdict.Reason) {
			t.Errorf("%s: %+v; see %s", question.ID, verdict, written(question.ID, message))
		}
	}
}

func answerTo(t *testing.T, simulator *simulation.Simulator, question simulation.Question) simulation.Answer {
	t.Helper()
	answered, err := simulator.Answer(context.Background(), question)
	if err != nil {
		t.Fatalf("%s: %v", question.ID, err)
	}
	return answered
}

// question is the cluster as the scheduler's informers would show it.
func (c *cluster) question(id string) simulation.Question {
	instance := simulation.Instance{ID: id}
	for _, node := range c.nodes {
		instance.Nodes = append(instance.Nodes, *node)
	}
	seen := map[string]bool{}
	for _, pod := range c.pods {
		if name := pod.Namespace + "/" + pod.Name; !seen[name] {
			seen[name] = true
			instance.Pods = append(instance.Pods, *pod)
		}
	}
	add := func(object simulation.Object) { instance.Objects = append(instance.Objects, object) }
	for _, namespace := range c.namespaces {
		namespace.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
		add(simulation.Object{Object: namespace})
	}
	for _, budget := range c.budgets {
		budget.TypeMeta = metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}
		add(simulation.Object{Object: budget})
	}
	for name, volume := range c.volumes {
		volume.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
		add(simulation.Object{Object: volume})
		add(simulation.Object{Object: &v1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       v1.PersistentVolumeClaimSpec{VolumeName: volume.Name, AccessModes: volume.Spec.AccessModes},
			Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}})
	}
	return simulation.Question{Instance: instance}
}

// startTimeout is for the optimiser to compile, where it never ran before.
const startTimeout = 5 * time.Minute

// startOptimizer starts the real one. It ends with its standard input.
func startOptimizer(t *testing.T) *optimizerclient.Client {
	t.Helper()
	program, err := exec.LookPath("stowage-optimizer")
	if err != nil {
		t.Skip("stowage-optimizer is not on the PATH: make test-go puts it there")
	}
	folder := testobjects.Value(os.MkdirTemp("", "odd"))(t) //nolint:usetesting // t.TempDir() may exceed the length of a socket's path
	socket := filepath.Join(folder, "s")
	command := exec.Command(program, "serve", "--socket", socket, "--end-with-stdin", "--workers", "1")
	log := testobjects.Value(os.Create(filepath.Join(folder, "log")))(t)
	command.Stderr = log
	input := testobjects.Value(command.StdinPipe())(t)
	testobjects.Must(t, command.Start())
	t.Cleanup(func() {
		_ = input.(io.Closer).Close()
		_ = command.Wait() // how it ends says nothing about the objects
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the optimiser's last words: %s", said[max(0, len(said)-8000):])
		}
		_ = os.RemoveAll(folder)
	})
	awaitServing(t, socket)
	client := testobjects.Value(optimizerclient.New(socket))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// awaitServing returns when the optimiser says that it is warm.
func awaitServing(t *testing.T, socket string) {
	t.Helper()
	connection := testobjects.Value(grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	watch := testobjects.Value(healthpb.NewHealthClient(connection).Watch(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)))(t)
	for {
		said, err := watch.Recv()
		if err != nil {
			t.Fatalf("the optimiser does not serve: %v", err)
		}
		if said.Status == healthpb.HealthCheckResponse_SERVING {
			return
		}
	}
}
