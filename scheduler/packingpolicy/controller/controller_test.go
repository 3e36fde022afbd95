package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// evening is before the window of the policy that most tests use: from two to four in the night, in Berlin.
var evening = time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)

const opened = "20261124t010000"

// world is an API server with one policy. Its informers show what it stores whenever the controller is asked to sync.
type world struct {
	t        *testing.T
	client   *dynamicfake.FakeDynamicClient
	clock    *testingclock.FakeClock
	recorder *events.FakeRecorder
	policies cache.SharedIndexInformer
	plans    cache.SharedIndexInformer
	*Controller
}

// nightly is the spec of a policy, as the API server completes it.
func nightly(changes map[string]any) map[string]any {
	spec := map[string]any{"objective": "Consolidate", "approval": "Automatic", "timeZone": "Europe/Berlin",
		"windows":         []any{map[string]any{"schedule": "0 2 * * *", "durationSeconds": int64(7200)}},
		"intervalSeconds": int64(600), "minGainPerMove": 0.1, "coolDownSeconds": 3600.0,
		"budget": map[string]any{"maxMovesPerWindow": int64(50), "maxMovesPerPlan": int64(20)}}
	for field, value := range changes {
		spec[field] = value
	}
	return spec
}

func newWorld(t *testing.T, spec map[string]any) *world {
	t.Helper()
	w := &world{t: t, clock: testingclock.NewFakeClock(evening)}
	w.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		packingplan.Resource: packingplan.Kind + "List", packingpolicy.Resource: packingpolicy.Kind + "List"})
	w.client.PrependReactor("create", "packingplans", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object, err := meta.Accessor(action.(clienttesting.CreateAction).GetObject())
		if err == nil && object.GetUID() == "" {
			object.SetUID(types.UID("uid-" + object.GetName()))
		}
		return false, nil, err
	})
	w.restart()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion("stowage.dev/v1alpha1")
	object.SetKind(packingpolicy.Kind)
	object.SetName("nightly")
	object.SetUID("uid-nightly")
	object.SetGeneration(3)
	w.must(w.client.Tracker().Create(packingpolicy.Resource, object, ""))
	return w
}

// restart puts another process in the controller's place.
func (w *world) restart() {
	w.t.Helper()
	w.policies, w.plans = packingpolicy.NewInformer(w.client), packingplan.NewInformer(w.client)
	w.recorder = events.NewFakeRecorder(100)
	made, err := New(Parts{Clock: w.clock, Client: w.client, Policies: w.policies, Plans: w.plans, Recorder: w.recorder})
	w.must(err)
	w.Controller = made
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// at sets the clock and syncs.
func (w *world) at(when string) *packingpolicy.Status {
	w.t.Helper()
	now, err := time.Parse(time.RFC3339, when)
	w.must(err)
	w.clock.SetTime(now)
	return w.synced()
}

// synced is the policy's status after a sync.
func (w *world) synced() *packingpolicy.Status {
	w.t.Helper()
	w.must(w.policies.GetStore().Replace(w.stored(packingpolicy.Resource, packingpolicy.Kind,
		func(object any) (any, error) { return packingpolicy.Read(object) }), ""))
	w.must(w.plans.GetStore().Replace(w.stored(packingplan.Resource, packingplan.Kind,
		func(object any) (any, error) { return packingplan.Read(object) }), ""))
	for _, object := range w.policies.GetStore().List() {
		err := w.sync(context.Background(), object.(*packingpolicy.Record))
		if err != nil && !apierrors.IsConflict(err) {
			w.t.Fatal(err)
		}
	}
	return w.status()
}

func (w *world) stored(of schema.GroupVersionResource, kind string, read func(any) (any, error)) (all []any) {
	w.t.Helper()
	list, err := w.client.Tracker().List(of, of.GroupVersion().WithKind(kind), "")
	w.must(err)
	for _, object := range list.(*unstructured.UnstructuredList).Items {
		record, err := read(&object)
		w.must(err)
		all = append(all, record)
	}
	return all
}

func (w *world) status() *packingpolicy.Status {
	w.t.Helper()
	object, err := w.client.Tracker().Get(packingpolicy.Resource, "", "nightly")
	w.must(err)
	record, err := packingpolicy.Read(object.(*unstructured.Unstructured).DeepCopy())
	w.must(err)
	return &record.Status
}

// asked are the plans that there are, by name.
func (w *world) asked() []*packingplan.Record {
	w.t.Helper()
	var plans []*packingplan.Record
	for _, object := range w.stored(packingplan.Resource, packingplan.Kind, func(object any) (any, error) { return packingplan.Read(object) }) {
		plans = append(plans, object.(*packingplan.Record))
	}
	slices.SortFunc(plans, func(a, b *packingplan.Record) int { return strings.Compare(a.Name(), b.Name()) })
	return plans
}

// becomes gives a plan its status: that many moves were made, and that many not.
func (w *world) becomes(name string, phase packingplan.Phase, made, waiting int) {
	w.t.Helper()
	found, err := w.client.Tracker().Get(packingplan.Resource, "", name)
	w.must(err)
	var moves []any
	for i := range made + waiting {
		state := "Bound"
		if i >= made {
			state = "Waiting"
		}
		moves = append(moves, map[string]any{"pod": fmt.Sprint("p", i), "podUID": fmt.Sprint("u", i), "fromNode": "a",
			"toNode": "b", "state": state})
	}
	object := found.(*unstructured.Unstructured).DeepCopy()
	object.Object["status"] = map[string]any{"phase": string(phase), "optimal": true, "moves": moves, "message": "so it went",
		"nodesInUse": map[string]any{"before": int64(9), "after": int64(7), "lowerBound": int64(6), "movesLowerBound": int64(1)}}
	if phase.Final() || phase == packingplan.Proposed {
		object.Object["status"].(map[string]any)["completionTime"] = w.clock.Now().UTC().Format(time.RFC3339)
	}
	w.must(w.client.Tracker().Update(packingplan.Resource, object, ""))
}

// why is the reason of the condition Planning.
func why(status *packingpolicy.Status) string {
	if found := meta.FindStatusCondition(status.Conditions, packingpolicy.Planning); found != nil {
		return found.Reason
	}
	return ""
}

// A policy must do nothing outside of its windows, and say when the next one is.
func TestNothingIsAskedForWhileNoWindowIsOpen(t *testing.T) {
	w := newWorld(t, nightly(nil))

	status := w.synced()

	if len(w.asked()) != 0 || why(status) != reasonClosed || status.Window != nil || status.ObservedGeneration != 3 {
		t.Errorf("plans %d, status %+v", len(w.asked()), status)
	}
	if next := status.NextWindow; next == nil || next.Opens.UTC().Format(time.RFC3339) != "2026-11-24T01:00:00Z" ||
		next.Ends.Sub(next.Opens.Time) != 2*time.Hour {
		t.Errorf("next %+v", next)
	}
}

// The plan is an ordinary one: what the policy allows is in its spec, where the scheduler and users find it.
func TestPlanCarriesThePolicysTerms(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"timeLimitSeconds": 7.5,
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"tier": "batch"}}}))

	status := w.at("2026-11-24T01:00:01Z")

	plan := w.asked()[0]
	spec := plan.Spec
	if plan.Name() != "nightly-"+opened+"-1" || plan.Labels()[packingplan.PolicyLabel] != "nightly" || plan.Ours() {
		t.Errorf("plan %s with labels %v", plan.Name(), plan.Labels())
	}
	if owners := plan.GetObjectMeta().GetOwnerReferences(); len(owners) != 1 || owners[0].UID != "uid-nightly" ||
		owners[0].Kind != packingpolicy.Kind {
		t.Errorf("owners %+v", owners)
	}
	if spec.ExecutionMode != packingplan.Execute || !spec.Consolidates() || *spec.MaxMoves != 20 || *spec.MaxEvictions != 0 ||
		*spec.MinGainPerMove != 0.1 || *spec.CoolDownSeconds != 3600 || *spec.TimeLimitSeconds != 7.5 ||
		spec.NamespaceSelector.MatchLabels["tier"] != "batch" || spec.Trigger != packingplan.TriggerPolicy ||
		!spec.NotAfter.Equal(&status.Window.Ends) {
		t.Errorf("spec %+v", spec)
	}
	if why(status) != reasonPlanning || status.Window.Plans != 1 || !status.LastPlan.Open() {
		t.Errorf("status %+v", status)
	}
}

// More than one plan at a time would spend the budget twice.
func TestOnePlanAtATimeAndAPauseAfterIt(t *testing.T) {
	w := newWorld(t, nightly(nil))
	w.at("2026-11-24T01:00:01Z")
	w.at("2026-11-24T01:20:00Z")
	whileOpen := len(w.asked())
	w.becomes("nightly-"+opened+"-1", packingplan.Completed, 4, 0)

	paused := w.at("2026-11-24T01:25:00Z")
	during := len(w.asked())
	after := w.at("2026-11-24T01:30:01Z")

	if whileOpen != 1 || during != 1 || why(paused) != reasonInterval || len(w.asked()) != 2 {
		t.Errorf("plans %d, %d, then %d; %s in the pause", whileOpen, during, len(w.asked()), why(paused))
	}
	if window := after.Window; window.Moves != 4 || window.NodesEmptied != 2 || window.Plans != 2 {
		t.Errorf("window %+v", window)
	}
	if last := paused.LastPlan; last.Phase != packingplan.Completed || last.Moves != 4 || *last.NodesLowerBound != 6 || last.Message != "so it went" {
		t.Errorf("last plan %+v", last)
	}
}

// The budget is of the whole window. What was begun counts, also when the plan failed; what was only planned does not.
func TestBudgetOfAWindowIsNeverExceeded(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"intervalSeconds": int64(1)}))
	w.at("2026-11-24T01:00:01Z")
	var given []int32
	for i, done := range []struct {
		phase         packingplan.Phase
		made, waiting int
	}{{packingplan.Completed, 20, 0}, {packingplan.Aborted, 15, 5}, {packingplan.Failed, 3, 7}, {packingplan.Completed, 12, 0}} {
		plan := w.asked()[i]
		given = append(given, *plan.Spec.MaxMoves)
		w.becomes(plan.Name(), done.phase, done.made, done.waiting)
		w.synced()
		w.at(w.clock.Now().Add(10 * time.Second).Format(time.RFC3339))
	}

	spent := w.status()
	next := w.at("2026-11-25T01:00:01Z")

	if !slices.Equal(given, []int32{20, 20, 15, 12}) || spent.Window.Moves != 50 || why(spent) != reasonBudget || spent.Window.Plans != 4 {
		t.Errorf("given %v, window %+v, %s", given, spent.Window, why(spent))
	}
	if len(w.asked()) != 5 || *w.asked()[4].Spec.MaxMoves != 20 || next.Window.Moves != 0 || next.LastWindow.Moves != 50 {
		t.Errorf("the next night: %d plans, %+v after %+v", len(w.asked()), next.Window, next.LastWindow)
	}
}

// A process may end at any moment. Its successor knows the account from the objects, and asks for no plan twice.
func TestAccountSurvivesARestart(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"intervalSeconds": int64(1)}))
	w.client.PrependReactor("update", "packingpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return w.clock.Now().Minute() == 0, nil, apierrors.NewConflict(packingpolicy.Resource.GroupResource(), "nightly", errors.New("lost"))
	})
	w.at("2026-11-24T01:00:01Z") // the plan is created, the status not written
	unwritten := w.status().LastPlan
	w.restart()
	adopted := w.at("2026-11-24T01:01:00Z")
	w.becomes("nightly-"+opened+"-1", packingplan.Completed, 7, 0)
	w.restart()
	w.at("2026-11-24T01:02:00Z")
	w.restart()
	status := w.at("2026-11-24T01:03:00Z")

	if unwritten != nil || adopted.LastPlan.UID != "uid-nightly-"+types.UID(opened)+"-1" || adopted.Window.Plans != 1 {
		t.Errorf("before %+v, adopted %+v", unwritten, adopted)
	}
	if status.Window.Moves != 7 || len(w.asked()) != 2 || *w.asked()[1].Spec.MaxMoves != 20 {
		t.Errorf("%d plans, window %+v", len(w.asked()), status.Window)
	}
}

// A window during which no scheduler ran is not made up for: the day is not the time for it. One that is still open is used.
func TestMissedWindowIsNotMadeUpFor(t *testing.T) {
	w := newWorld(t, nightly(nil))
	w.synced()
	w.restart()
	missed := w.at("2026-11-24T09:00:00Z")
	plans := len(w.asked())
	w.restart()
	late := w.at("2026-11-25T02:59:00Z")

	if plans != 0 || missed.LastWindow != nil || why(missed) != reasonClosed {
		t.Errorf("%d plans, status %+v", plans, missed)
	}
	if len(w.asked()) != 1 || late.Window == nil || w.asked()[0].Spec.NotAfter.UTC().Format(time.RFC3339) != "2026-11-25T03:00:00Z" {
		t.Errorf("%d plans, window %+v", len(w.asked()), late.Window)
	}
}

// In the night in which the clock goes back there is one window with one budget, not two.
func TestNightOfTheClockChangeHasOneWindow(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"intervalSeconds": int64(1),
		"windows": []any{map[string]any{"schedule": "30 2 * * *", "durationSeconds": int64(7200)}}}))
	w.at("2026-10-25T00:30:01Z") // half past two, in summer time
	w.becomes(w.asked()[0].Name(), packingplan.Completed, 9, 0)
	again := w.at("2026-10-25T01:30:01Z") // half past two, in winter time

	if again.Window.Moves != 9 || again.Window.Plans != 2 || again.LastWindow != nil {
		t.Errorf("window %+v after %+v", again.Window, again.LastWindow)
	}
}

// By hand, a plan moves nothing until somebody says so. It is not replaced by another while it waits.
func TestPlanOfAPolicyWithManualApprovalWaits(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"approval": "Manual"}))
	w.at("2026-11-24T01:00:01Z")
	plan := w.asked()[0]
	w.becomes(plan.Name(), packingplan.Proposed, 0, 5)

	waiting := w.at("2026-11-24T02:30:00Z")
	w.becomes(plan.Name(), packingplan.Aborted, 0, 5) // as the plugin does when its time is over
	closed := w.at("2026-11-24T03:00:00Z")

	if plan.Spec.ExecutionMode != packingplan.DryRun || why(waiting) != reasonApproval || len(w.asked()) != 1 {
		t.Errorf("mode %s, %s, %d plans", plan.Spec.ExecutionMode, why(waiting), len(w.asked()))
	}
	if closed.LastWindow.Moves != 0 || closed.Window != nil || closed.LastPlan.Phase != packingplan.Aborted {
		t.Errorf("closed %+v, last plan %+v", closed, closed.LastPlan)
	}
}

// Nobody knows what a plan did that was deleted in the middle: to count too little would break the budget.
func TestDeletedPlanCountsInFull(t *testing.T) {
	w := newWorld(t, nightly(nil))
	w.at("2026-11-24T01:00:01Z")
	w.must(w.client.Tracker().Delete(packingplan.Resource, "", w.asked()[0].Name()))

	soon := w.at("2026-11-24T01:00:02Z")
	late := w.at("2026-11-24T01:00:20Z")

	if !soon.LastPlan.Open() || late.LastPlan.Phase != packingpolicy.Deleted || late.Window.Moves != 20 {
		t.Errorf("soon %+v, late %+v in %+v", soon.LastPlan, late.LastPlan, late.Window)
	}
}

// A policy is stopped without losing what it says, and goes on without opening its window anew.
func TestSuspendedPolicyAsksForNothing(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"suspend": true}))

	status := w.at("2026-11-24T01:00:01Z")

	if len(w.asked()) != 0 || why(status) != reasonSuspended || status.Window == nil {
		t.Errorf("%d plans, %s, window %+v", len(w.asked()), why(status), status.Window)
	}
}

// What the schema of the API server lets through must not stop the others, and is said where a user looks.
func TestPolicyThatCannotBeReadSaysSo(t *testing.T) {
	w := newWorld(t, nightly(map[string]any{"windows": []any{map[string]any{"schedule": "99 2 * * *", "durationSeconds": int64(60)}}}))

	status := w.at("2026-11-24T01:00:01Z")

	valid := meta.FindStatusCondition(status.Conditions, packingpolicy.Valid)
	if len(w.asked()) != 0 || valid == nil || valid.Status != metav1.ConditionFalse || why(status) != reasonInvalid ||
		!strings.Contains(valid.Message, "windows[0].schedule") {
		t.Errorf("%d plans, %+v", len(w.asked()), status.Conditions)
	}
}

// An API server with the CRD of an earlier release refuses the plan. A plan that it has cut down would place pods.
func TestPlanThatCannotBeCreatedIsNotTriedAllTheTime(t *testing.T) {
	w := newWorld(t, nightly(nil))
	tries := 0
	w.client.PrependReactor("create", "packingplans", func(clienttesting.Action) (bool, runtime.Object, error) {
		tries++
		return true, nil, apierrors.NewBadRequest(`strict decoding error: unknown field "spec.objective"`)
	})

	status := w.at("2026-11-24T01:00:01Z")
	w.at("2026-11-24T01:00:05Z")
	w.at("2026-11-24T01:01:00Z")

	message := meta.FindStatusCondition(status.Conditions, packingpolicy.Planning).Message
	if tries != 2 || why(status) != reasonFailed || !strings.Contains(message, "Helm does not upgrade it") || status.Window.Plans != 0 {
		t.Errorf("tried %d times, %s: %s", tries, why(status), message)
	}
}

// Events tell the story of a window in kubectl describe, each of them once.
func TestEventsTellTheStoryOfAWindow(t *testing.T) {
	w := newWorld(t, nightly(nil))
	w.synced()
	w.at("2026-11-24T01:00:01Z")
	w.at("2026-11-24T01:00:02Z")
	w.becomes(w.asked()[0].Name(), packingplan.Completed, 4, 0)
	w.at("2026-11-24T01:00:03Z")
	w.at("2026-11-24T01:00:04Z")
	w.at("2026-11-24T03:00:00Z")

	close(w.recorder.Events)
	var told []string
	for event := range w.recorder.Events {
		told = append(told, strings.Fields(event)[1])
	}
	if want := []string{"WindowOpened", "PlanCreated", "PlanCompleted", "WindowClosed"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}
