package httptrigger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	sjson "sigs.k8s.io/json"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// maxBodyBytes is far more than a body needs.
const maxBodyBytes = 4096

const jsonMediaType = "application/json"

// body is what a request may ask for. The API server fills in what is left out, and validates the values.
type body struct {
	Mode             packingplan.Mode `json:"mode,omitempty"`
	TimeLimitSeconds *float64         `json:"timeLimitSeconds,omitempty"`
}

// readSpec reads what is asked for; no body asks for a plan with all defaults.
func readSpec(writer http.ResponseWriter, from *http.Request) (packingplan.Spec, *apierrors.StatusError) {
	content, err := io.ReadAll(http.MaxBytesReader(writer, from.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return packingplan.Spec{}, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("the body may have %d bytes at most", tooLarge.Limit))
	case err != nil:
		return packingplan.Spec{}, apierrors.NewBadRequest("the body cannot be read: " + err.Error())
	case len(bytes.TrimSpace(content)) == 0:
		return packingplan.Spec{}, nil
	}
	// A web page cannot send this type to another host without a CORS preflight request.
	if kind, _, err := mime.ParseMediaType(from.Header.Get("Content-Type")); err != nil || kind != jsonMediaType {
		return packingplan.Spec{}, apierrors.NewBadRequest("the body must be sent with the header Content-Type: " + jsonMediaType)
	}
	return decode(content)
}

func decode(content []byte) (packingplan.Spec, *apierrors.StatusError) {
	var asked body
	strict, err := sjson.UnmarshalStrict(content, &asked)
	if err == nil {
		err = utilerrors.NewAggregate(strict)
	}
	if err != nil {
		return packingplan.Spec{}, apierrors.NewBadRequest(
			"the body must be a JSON object with no fields but mode and timeLimitSeconds: " + err.Error())
	}
	return packingplan.Spec{Mode: asked.Mode, TimeLimitSeconds: asked.TimeLimitSeconds}, nil
}
