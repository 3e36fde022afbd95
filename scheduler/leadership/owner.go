package leadership

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// BelongToAccount has the lease deleted with the service account of this process, which goes when its release is
// uninstalled. The lease is the one object that the process makes for itself, and nobody else would delete it. Only the
// leader may call it.
func (l *Lease) BelongToAccount(ctx context.Context) {
	if l == nil {
		return
	}
	if err := l.belongToAccount(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "The lease stays when the release is uninstalled",
			"lease", klog.KRef(l.Namespace, l.Name))
	}
}

func (l *Lease) belongToAccount(ctx context.Context) error {
	review, err := l.Reviews.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking the API server for the own account: %w", err)
	}
	user := review.Status.UserInfo
	account, here := strings.CutPrefix(user.Username, serviceaccount.MakeUsername(l.Namespace, ""))
	if !here {
		return nil // a user's lease is the user's own, and an object can only belong to one of its namespace
	}
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account, UID: types.UID(user.UID)}}
	// The election renews the lease meanwhile.
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := l.held(ctx)
		if err != nil || slices.Equal(lease.OwnerReferences, owners) {
			return err
		}
		lease.OwnerReferences = owners
		_, err = l.Client.Leases(l.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
}
