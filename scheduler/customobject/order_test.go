package customobject_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stowage/stowage/scheduler/customobject"
)

type named struct {
	name string
	age  time.Duration
}

func (n named) Name() string       { return n.name }
func (n named) Created() time.Time { return time.Unix(0, 0).Add(-n.age) }

// The object that has waited longest comes first. Timestamps have whole seconds, so many objects have the same age: then
// their names decide, so that the order is deterministic.
func TestOldestComeFirstAndNamesBreakTies(t *testing.T) {
	objects := []named{{"c", 0}, {"b", time.Second}, {"a", time.Second}, {"d", time.Minute}}

	slices.SortFunc(objects, customobject.OldestFirst)

	want := []named{{"d", time.Minute}, {"a", time.Second}, {"b", time.Second}, {"c", 0}}
	if !slices.Equal(objects, want) {
		t.Errorf("%v, want %v", objects, want)
	}
}
