package httptrigger

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

const messageUnknown = "a bearer token is needed that the API server accepts"

// onlyNamed rejects anonymous users. The scheduler's own authenticator admits them for its health checks; here they must
// not pass, whatever their rights are.
func onlyNamed(by authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		response, known, err := by.AuthenticateRequest(request)
		if err != nil || !known || response.User == nil || anonymous(response.User) {
			return nil, false, err
		}
		return response, true, nil
	})
}

func anonymous(asking user.Info) bool {
	return asking.GetName() == "" || asking.GetName() == user.Anonymous ||
		slices.Contains(asking.GetGroups(), user.AllUnauthenticated)
}

func refuseUnknown(writer http.ResponseWriter, _ *http.Request) {
	writer.Header().Set("WWW-Authenticate", "Bearer")
	// The connection of an unknown user is not kept open.
	writer.Header().Set("Connection", "close")
	refuse(writer, apierrors.NewUnauthorized(messageUnknown))
}

// refuse answers as the API server does: with a Status that says why.
func refuse(writer http.ResponseWriter, refusal *apierrors.StatusError) {
	status := responsewriters.ErrorToAPIStatus(refusal)
	writer.Header().Set("X-Content-Type-Options", "nosniff")
	responsewriters.WriteRawJSON(int(status.Code), status, writer)
}
