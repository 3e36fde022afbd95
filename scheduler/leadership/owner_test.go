package leadership_test

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

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
