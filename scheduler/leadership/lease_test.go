package leadership_test

import (
	"context"
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage/stowage/scheduler/leadership"
)

// Only the API server knows who leads: what the process remembers may be older than its lease.
func TestLeaseIsHeldByWhomTheAPIServerNames(t *testing.T) {
	me, another := "me", "another"
	for text, c := range map[string]struct {
		holder      *string
		held, known bool
	}{
		"me":          {&me, true, true},
		"another":     {&another, false, true},
		"nobody":      {nil, false, true},
		"unreachable": {nil, false, false},
	} {
		client := fake.NewClientset()
		if c.known {
			client = fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: c.holder}})
		}
		lease := &leadership.Lease{Client: client.CoordinationV1(), Namespace: "ns", Name: "l", Identity: me}

		err := lease.Check(context.Background())

		var lost *leadership.LostError
		if (err == nil) != c.held || errors.As(err, &lost) != (c.known && !c.held) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var none *leadership.Lease
	if err := none.Check(context.Background()); err != nil {
		t.Errorf("without an election: %v", err)
	}
}
