package packingplan_test

import (
	"context"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// An upgrade, and a step back, take plans over that are under way: the object stays as it was, and says nothing of units
// where each pod is one.
func TestObjectOfAPlanListsItsStepsApart(t *testing.T) {
	ctx := context.Background()
	client, store, record := created(ctx, t)
	pod := func(name string, more ...any) any {
		one := map[string]any{"pod": "ns/" + name, "podUID": name, "ownerUID": "rs", "class": "c"}
		for i := 0; i < len(more); i += 2 {
			one[more[i].(string)] = more[i+1]
		}
		return one
	}
	want := map[string]any{"optimal": false, "phase": "Executing", "solveSeconds": 1.5, "strategy": "lexicographic",
		"tiers":      []any{map[string]any{"priority": int64(7), "placedBefore": int64(1), "placed": int64(2), "upperBound": int64(2), "optimal": true}},
		"placements": []any{pod("waits", "node", "n1"), pod("waits-too", "node", "n2", "unit", "gang")},
		"moves":      []any{pod("runs", "fromNode", "n1", "toNode", "n2", "state", "Waiting", "unit", "gang")},
		"evictions":  []any{pod("leaves", "node", "n2", "state", "Gone")}}
	object := testobjects.Value(client.Resource(packingplan.Resource).Get(ctx, record.Name(), metav1.GetOptions{}))(t)
	object.Object["status"] = want

	read := testobjects.Value(packingplan.Read(object))(t)
	record.Status = read.Status
	testobjects.Must(t, store.WriteStatus(ctx, record))

	steps, move := read.Status.Steps, read.Status.Moves()[0]
	if len(steps) != 4 || steps[2] != move || move.From != "n1" || move.To != "n2" || steps[0].To != "n1" || steps[3].From != "n2" {
		t.Errorf("steps %+v, move %+v", steps, move)
	}
	if units := packingplan.Units(steps); len(units) != 3 || len(units[1]) != 2 || units[1][1] != move {
		t.Errorf("units %v", units)
	}
	written := testobjects.Value(client.Resource(packingplan.Resource).Get(ctx, record.Name(), metav1.GetOptions{}))(t)
	if got := written.Object["status"]; !reflect.DeepEqual(got, want) {
		t.Errorf("status %v, want %v", got, want)
	}
}
