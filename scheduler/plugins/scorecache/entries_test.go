package scorecache

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// TestWhatIsSkippedIsKnownForATime: a plugin that did not apply may do so after nodes have changed or pods with affinity
// have come or gone.
func TestWhatIsSkippedIsKnownForATime(t *testing.T) {
	then := epochs{nodes: 1, properties: 2, affinity: 3}
	e := &entry{skip: sets.New[string](), learnt: then}
	for _, row := range []struct {
		now   epochs
		knows bool
	}{
		{then, true},
		{epochs{nodes: 2, properties: 2, affinity: 3}, true},
		{epochs{nodes: 1, properties: 3, affinity: 3}, false},
		{epochs{nodes: 1, properties: 2, affinity: 4}, false},
	} {
		if knows := e.knows(row.now); knows != row.knows {
			t.Errorf("%+v: known should be %t", row.now, row.knows)
		}
	}
	if e.forget(); e.knows(then) {
		t.Error("what was forgotten should not be known")
	}
}
