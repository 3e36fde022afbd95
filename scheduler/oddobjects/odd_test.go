package oddobjects_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
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
func (r *run) solve(taken *snapshot.Snapshot) *optimizerclient.Answer {
	answer := r.ask(taken, limit)
	if answer.Plan == nil && isLate(answer) {
		r.count.late++
		answer = r.ask(taken, lateLimit)
	}
	r.count.ends[answer.EndReason.String()]++
	return answer
}

// ask sends one solve to the optimiser.
func (r *run) ask(taken *snapshot.Snapshot, limit time.Duration) *optimizerclient.Answer {
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	answer, err := r.client.Solve(ctx, &contract.SolveRequest{Snapshot: taken.Message,
		Options: &contract.SolveOptions{TimeLimitS: limit.Seconds(), Workers: 1}}, func(*contract.Plan) error { return nil })
	if err != nil {
		return &optimizerclient.Answer{Message: err.Error()}
	}
	return answer
}

// isLate distinguishes a busy machine from an error: a repeated solve has all the time that it needs.
func isLate(answer *optimizerclient.Answer) bool {
	return answer.EndReason == contract.EndReason_END_REASON_TIME_LIMIT ||
		strings.Contains(answer.Message, "did not get ready: none was started in time")
}

func forThoseWhoNeverPreempt(taken *snapshot.Snapshot, of *contract.Plan) bool {
	return slices.ContainsFunc(taken.Waiting(of), (*snapshot.Pod).NeverPreempts)
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
