package httptrigger

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// createTimeout bounds the call to the API server.
const createTimeout = 10 * time.Second

// create creates the object and records for which user: to the API server, the creator is the scheduler.
func (t *trigger) create(
	ctx context.Context, asking user.Info, spec packingplan.Spec,
) (*packingplan.Record, *apierrors.StatusError) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	logger := klog.FromContext(ctx).WithName("HTTPTrigger").WithValues("user", asking.GetName())
	record, err := t.plans.CreateFor(ctx, asking.GetName(), spec)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return nil, apierrors.NewBadRequest(err.Error())
	case err != nil:
		logger.Error(err, "A user's plan could not be created")
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	logger.Info("Created a plan that a user asked for", "plan", record.Name(), "uid", record.UID(),
		"mode", record.Spec.Mode)
	return record, nil
}
