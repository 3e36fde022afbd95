package records

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// A plan may be deleted while it is carried out, and another one may get its name: a request about the second must not
// affect the first.
func TestAbortIsThatOfThePlanAndNotOfANamesake(t *testing.T) {
	plans := &Plans{Informer: packingplan.NewInformer(testobjects.CustomClient())}
	plan := func(uid types.UID) *packingplan.Record {
		object := testobjects.Custom(packingplan.Kind, "what-if", map[string]any{"abort": true})
		object.SetUID(uid)
		record := testobjects.Value(packingplan.Read(object))(t)
		return record
	}
	testobjects.Must(t, plans.Informer.GetStore().Add(plan("second")))

	for uid, want := range map[types.UID]bool{"first": false, "second": true} {
		if got := plans.AbortRequested(plan(uid)); got != want {
			t.Errorf("the %s plan: %t, want %t", uid, got, want)
		}
	}
}

// A process may handle plans for years.
func TestHandledPlansAreNotRememberedForEver(t *testing.T) {
	handled := newLatest()
	for i := range 3 * plansRemembered {
		handled.Insert(types.UID(strconv.Itoa(i)))
	}
	handled.Insert("last")

	if handled.cache.Len() > plansRemembered || !handled.Has("last") || handled.Has("other") {
		t.Errorf("%d are remembered", handled.cache.Len())
	}
}
