package leadership_test

import (
	"context"
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/leadership"
)

// Only the API server knows which process leads: what the process remembers may be older than its lease.
func TestLeaseIsHeldByTheProcessThatTheAPIServerNames(t *testing.T) {
	for text, c := range map[string]struct {
		stored []runtime.Object
		lost   string
		held   bool
	}{
		"me":          {[]runtime.Object{testobjects.Lease("ns", "l", "me")}, "", true},
		"another":     {[]runtime.Object{testobjects.Lease("ns", "l", "another")}, "another", false},
		"no holder":   {[]runtime.Object{&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"}}}, "", false},
		"unreachable": {nil, "", false},
	} {
		lease := leaseOf(fake.NewClientset(c.stored...))
		for _, check := range []func(context.Context) error{lease.Check, lease.CheckCached} {
			err := check(t.Context())

			var lost *leadership.LostError
			if (err == nil) != c.held || errors.As(err, &lost) != (c.stored != nil && !c.held) || lost != nil && lost.Holder != c.lost {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	var none *leadership.Lease
	if err := errors.Join(none.Check(t.Context()), none.CheckCached(t.Context())); err != nil {
		t.Errorf("without an election: %v", err)
	}
}

// leaseOf is the lease ns/l as the process "me" sees it.
func leaseOf(client *fake.Clientset) *leadership.Lease {
	return &leadership.Lease{Client: client.CoordinationV1(), Namespace: "ns", Name: "l", Identity: "me",
		Reviews: client.AuthenticationV1()}
}

// Binding is frequent, and must not read the lease each time; but a process that was stopped for longer than its lease
// must read it before it binds a pod.
func TestCachedCheckReadsTheLeaseOnlyWhenItMayHaveRunOut(t *testing.T) {
	lasts := int32(60)
	for text, c := range map[string]struct {
		renewed time.Time
		asked   int
	}{
		"just renewed":    {time.Now(), 1},
		"half of it over": {time.Now().Add(-31 * time.Second), 3},
	} {
		stored, renewed := testobjects.Lease("ns", "l", "me"), metav1.NewMicroTime(c.renewed)
		stored.Spec.RenewTime, stored.Spec.LeaseDurationSeconds = &renewed, &lasts
		client := fake.NewClientset(stored)
		lease := leaseOf(client)

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

// Helm knows nothing of the lease. What belongs to the service account goes with it; a lease must never belong to
// something of another namespace, since the garbage collector would delete it at once.
func TestLeaseBelongsToTheServiceAccountOfTheProcessThatHoldsIt(t *testing.T) {
	for text, c := range map[string]struct {
		user, holder string
		owned        bool
	}{
		"the leader's account":         {"system:serviceaccount:ns:release", "me", true},
		"an account elsewhere":         {"system:serviceaccount:other:release", "me", false},
		"a user":                       {"admin", "me", false},
		"the account of one who waits": {"system:serviceaccount:ns:release", "another", false},
	} {
		client := fake.NewClientset(testobjects.Lease("ns", "l", c.holder))
		client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
				UserInfo: authenticationv1.UserInfo{Username: c.user, UID: "u1"}}}, nil
		})

		leaseOf(client).BelongToAccount(context.Background())

		stored := testobjects.Value(client.CoordinationV1().Leases("ns").Get(context.Background(), "l", metav1.GetOptions{}))(t)
		owners := stored.OwnerReferences
		if c.owned != (len(owners) == 1) || c.owned && (owners[0].Name != "release" || owners[0].UID != "u1") {
			t.Errorf("%s: owned by %v", text, owners)
		}
	}
}
