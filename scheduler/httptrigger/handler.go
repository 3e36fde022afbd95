package httptrigger

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericfilters "k8s.io/apiserver/pkg/server/filters"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// Path is where plans are asked for.
const Path = "/packingplans"

// plans is where the objects are created.
type plans interface {
	CreateFor(ctx context.Context, user string, spec packingplan.Spec) (*packingplan.Record, error)
}

// trigger answers requests whose user is known.
type trigger struct {
	authorizer authorizer.Authorizer
	plans      plans
}

// created is the answer to a request that is fulfilled.
type created struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// New returns the handler of Path. who authenticates a request's user, and may authorises the user.
func New(who authenticator.Request, may authorizer.Authorizer, in plans) http.Handler {
	var handler http.Handler = &trigger{authorizer: may, plans: in}
	handler = filters.WithAuthentication(handler, onlyNamed(who), http.HandlerFunc(refuseUnknown), nil, nil)
	handler = filters.WithCacheControl(handler)
	handler = genericfilters.WithHTTPLogging(handler)
	return genericfilters.WithPanicRecovery(handler, &request.RequestInfoFactory{})
}

// ServeHTTP creates a plan, or says why not.
func (t *trigger) ServeHTTP(writer http.ResponseWriter, from *http.Request) {
	record, refusal := t.serve(writer, from)
	if refusal != nil {
		refuse(writer, refusal)
		return
	}
	responsewriters.WriteRawJSON(http.StatusCreated, created{Name: record.Name(), UID: record.UID()}, writer)
}

func (t *trigger) serve(writer http.ResponseWriter, from *http.Request) (*packingplan.Record, *apierrors.StatusError) {
	ctx := from.Context()
	asking, known := request.UserFrom(ctx)
	if !known {
		return nil, apierrors.NewUnauthorized(messageUnknown)
	}
	if refusal := t.authorise(ctx, asking); refusal != nil {
		return nil, refusal
	}
	if from.Method != http.MethodPost {
		writer.Header().Set("Allow", http.MethodPost)
		return nil, apierrors.NewMethodNotSupported(packingplan.Resource.GroupResource(), from.Method)
	}
	spec, refusal := readSpec(writer, from)
	if refusal != nil {
		return nil, refusal
	}
	return t.create(ctx, asking, spec)
}

// authorise asks whether the user may create the object directly. Rights to paths say nothing about that.
func (t *trigger) authorise(ctx context.Context, asking user.Info) *apierrors.StatusError {
	creating := authorizer.AttributesRecord{
		User: asking, Verb: "create", ResourceRequest: true, APIGroup: packingplan.Resource.Group,
		APIVersion: packingplan.Resource.Version, Resource: packingplan.Resource.Resource,
	}
	decision, reason, err := t.authorizer.Authorize(ctx, creating)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewServiceUnavailable("the API server could not be asked for the user's rights: " + err.Error())
	}
	return responsewriters.ForbiddenStatusError(creating, reason)
}
