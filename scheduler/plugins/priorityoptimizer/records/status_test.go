package records

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// Where replacements have exchanged their places, the next process must look for them where they went.
func TestProgressNamesTheNodesThatReplacementsGoTo(t *testing.T) {
	status := &packingplan.Status{Steps: []*packingplan.Step{
		{PodUID: "a", From: "x", To: "one", State: "Gone"}, {PodUID: "b", From: "x", To: "two", State: "Waiting"},
	}}
	states := map[types.UID]packingplan.State{"a": packingplan.Gone, "b": packingplan.NotNeeded}
	exchanged := map[types.UID]string{"a": "two", "b": "one"}

	changed, again := DescribeProgress(status, states, exchanged), DescribeProgress(status, states, exchanged)

	if a, b := status.Steps[0], status.Steps[1]; a.To != "two" || b.To != "one" || b.State != "NotNeeded" {
		t.Errorf("moves %+v, %+v", a, b)
	}
	if !changed || again {
		t.Errorf("changed %t, then %t; want true, then false", changed, again)
	}
}
