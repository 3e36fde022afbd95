package leadership_test

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage/stowage/scheduler/leadership"
)

// Only the API server knows which process leads: what the process remembers may be older than its lease.
func TestLeaseIsHeldByTheProcessThatTheAPIServerNames(t *testing.T) {
	me, another := "me", "another"
	for text, c := range map[string]struct {
		holder      *string
		held, known bool
	}{
		"me":          {&me, true, true},
		"another":     {&another, false, true},
		"no holder":   {nil, false, true},
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

// Binding is frequent, and must not read the lease each time; but a process that was stopped for longer than its lease
// must read it before it binds a pod.
func TestCachedCheckReadsTheLeaseOnlyWhenItMayHaveRunOut(t *testing.T) {
	me, lasts := "me", int32(60)
	for text, c := range map[string]struct {
		renewed time.Time
		asked   int
	}{
		"just renewed":    {time.Now(), 1},
		"half of it over": {time.Now().Add(-31 * time.Second), 3},
	} {
		renewed := metav1.NewMicroTime(c.renewed)
		client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &me, RenewTime: &renewed, LeaseDurationSeconds: &lasts}})
		lease := &leadership.Lease{Client: client.CoordinationV1(), Namespace: "ns", Name: "l", Identity: me}

		for range 3 {
			if err := lease.CheckCached(context.Background()); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}

		if asked := len(client.Actions()); asked != c.asked {
			t.Errorf("%s: asked %d times", text, asked)
		}
	}
}

// A process that has read that another one leads must not rely on an earlier reading.
func TestCachedCheckNamesTheLeader(t *testing.T) {
	another := "another"
	client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &another}})
	lease := &leadership.Lease{Client: client.CoordinationV1(), Namespace: "ns", Name: "l", Identity: "me"}
	var lost *leadership.LostError
	if err := lease.CheckCached(context.Background()); !errors.As(err, &lost) || lost.Holder != another {
		t.Errorf("%v", err)
	}
	var none *leadership.Lease
	if err := none.CheckCached(context.Background()); err != nil {
		t.Errorf("without an election: %v", err)
	}
}
