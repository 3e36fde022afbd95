package oddobjects_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

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
