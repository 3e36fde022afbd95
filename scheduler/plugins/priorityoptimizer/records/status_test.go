package records

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// A write that the API server will never accept is not retried for ever.
func TestOnlyTransientErrorsAreRetried(t *testing.T) {
	plans := packingplan.Resource.GroupResource()
	for text, c := range map[string]struct {
		err  error
		want bool
	}{
		"refused":     {errors.New("connection refused"), true},
		"busy":        {apierrors.NewTooManyRequests("later", 1), true},
		"starting":    {apierrors.NewServiceUnavailable("not yet"), true},
		"overtaken":   {apierrors.NewConflict(plans, "p", errors.New("changed")), true},
		"deleted":     {apierrors.NewNotFound(plans, "p"), false},
		"forbidden":   {apierrors.NewForbidden(plans, "p", errors.New("not synced")), true},
		"overwritten": {&packingplan.OvertakenError{Plan: "p"}, false},
		"too large":   {apierrors.NewRequestEntityTooLargeError("2 MiB"), false},
		"for etcd":    {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), false},
		"not a plan":  {apierrors.NewInvalid(packingplan.Resource.GroupVersion().WithKind(packingplan.Kind).GroupKind(), "p", nil), false},
	} {
		if got := IsTransient(c.err); got != c.want {
			t.Errorf("%s: tried again: %t", text, got)
		}
	}
}
