package httptrigger

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asked is one request to the trigger; what is left out has a valid value.
type asked struct {
	method, token, body, contentType string
}

// send sends the request and returns the answer's code and content.
func (r asked) send(t *testing.T, to string) (int, []byte) {
	t.Helper()
	method, contentType := r.method, r.contentType
	if method == "" {
		method = http.MethodPost
	}
	if contentType == "" {
		contentType = "application/json; charset=utf-8"
	}
	request, err := http.NewRequest(method, to+Path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if kind := response.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("answered with %s, want JSON: %s", kind, content)
	}
	return response.StatusCode, content
}

// refused checks that the answer is a Status with the code and a message that says why.
func refused(t *testing.T, code int, content []byte, want int, why string) {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal(content, &status); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
	if code != want || status.Code != int32(want) || status.Kind != "Status" || !strings.Contains(status.Message, why) {
		t.Errorf("%d %s; want %d and %q", code, content, want, why)
	}
}

// The trigger creates the plan that is asked for, with the defaults left to the API server, as a user's plan and in the
// user's name.
func TestPlanIsCreatedAsAskedFor(t *testing.T) {
	for _, one := range []struct {
		name, body string
		spec       map[string]any
	}{
		{"no body", "", map[string]any{}},
		{"white space", " \n", map[string]any{}},
		{"empty object", "{}", map[string]any{}},
		{"mode", `{"mode":"Execute"}`, map[string]any{"mode": "Execute"}},
		{"a value that is not allowed", `{"timeLimitSeconds":0}`, map[string]any{"timeLimitSeconds": 0.0}},
		{"all", `{"mode":"DryRun","timeLimitSeconds":2.5}`, map[string]any{"mode": "DryRun", "timeLimitSeconds": 2.5}},
	} {
		t.Run(one.name, func(t *testing.T) {
			api := &apiServer{t: t}

			code, content := asked{token: creatorsToken, body: one.body}.send(t, api.serve())

			var answer created
			if err := json.Unmarshal(content, &answer); err != nil || code != http.StatusCreated {
				t.Fatalf("%d %s: %v", code, content, err)
			}
			objects := api.objects()
			if len(objects) != 1 {
				t.Fatalf("created %v", objects)
			}
			want := map[string]any{
				"apiVersion": "stowage.dev/v1alpha1", "kind": "PackingPlan", "spec": one.spec,
				"metadata": map[string]any{
					"name": answer.Name, "uid": givenUID,
					"labels":      map[string]any{"app.kubernetes.io/created-by": "stowage-http-trigger"},
					"annotations": map[string]any{"stowage.dev/requested-by": creator},
				},
			}
			if !reflect.DeepEqual(objects[0], want) || answer.UID != givenUID || answer.Name == "" {
				t.Errorf("created %v and answered %+v, want %v", objects[0], answer, want)
			}
		})
	}
}

// Whatever is wrong with a request, the answer says so, and nothing is created.
func TestEveryInvalidRequestIsRefusedWithItsReason(t *testing.T) {
	long := `{"mode":"` + strings.Repeat("x", maxBodyBytes) + `"}`
	for _, one := range []struct {
		name string
		asked
		code int
		why  string
	}{
		{"no token", asked{}, 401, "a bearer token is needed"},
		{"unknown token", asked{token: unknownToken}, 401, "a bearer token is needed"},
		{"anonymous by a token", asked{token: anonymousToken}, 401, "a bearer token is needed"},
		{"no token, wrong method", asked{method: http.MethodGet}, 401, "a bearer token is needed"},
		{"no right", asked{token: outsidersToken}, 403,
			`User "` + outsider + `" cannot create resource "packingplans" in API group "stowage.dev" at the cluster scope`},
		{"no right, broken body", asked{token: outsidersToken, body: "{"}, 403, "cannot create"},
		{"reading", asked{token: creatorsToken, method: http.MethodGet}, 405, "GET is not supported"},
		{"replacing", asked{token: creatorsToken, method: http.MethodPut}, 405, "PUT is not supported"},
		{"deleting", asked{token: creatorsToken, method: http.MethodDelete}, 405, "DELETE is not supported"},
		{"unknown field", asked{token: creatorsToken, body: `{"mode":"DryRun","trigger":"Manual"}`}, 400, `unknown field "trigger"`},
		{"other case", asked{token: creatorsToken, body: `{"Mode":"Execute"}`}, 400, `unknown field "Mode"`},
		{"doubled field", asked{token: creatorsToken, body: `{"mode":"DryRun","mode":"Execute"}`}, 400, `duplicate field "mode"`},
		{"wrong type", asked{token: creatorsToken, body: `{"timeLimitSeconds":"1"}`}, 400, "timeLimitSeconds"},
		{"no object", asked{token: creatorsToken, body: `["DryRun"]`}, 400, "must be a JSON object"},
		{"two objects", asked{token: creatorsToken, body: `{}{}`}, 400, "must be a JSON object"},
		{"no JSON", asked{token: creatorsToken, body: `mode=Execute`}, 400, "must be a JSON object"},
		{"a form", asked{token: creatorsToken, body: `{}`, contentType: "text/plain"}, 400, "Content-Type: application/json"},
		{"too long", asked{token: creatorsToken, body: long}, 413, "4096 bytes at most"},
	} {
		t.Run(one.name, func(t *testing.T) {
			api := &apiServer{t: t}

			code, content := one.send(t, api.serve())

			refused(t, code, content, one.code, one.why)
			if objects := api.objects(); len(objects) != 0 {
				t.Errorf("created %v", objects)
			}
		})
	}
}

// An error of the API server is passed on, and as the user's error only if it is one.
func TestRefusalOfTheAPIServerIsPassedOn(t *testing.T) {
	for _, one := range []struct {
		name    string
		refusal metav1.Status
		code    int
	}{
		{"invalid", metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "spec.mode: Unsupported value"}, 400},
		{"denied", metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "not on Sundays"}, 503},
		{"no such kind", metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: "no such resource"}, 503},
	} {
		t.Run(one.name, func(t *testing.T) {
			one.refusal.Status, one.refusal.Kind, one.refusal.APIVersion = metav1.StatusFailure, "Status", "v1"
			api := &apiServer{t: t, refusal: &one.refusal}

			code, content := asked{token: creatorsToken}.send(t, api.serve())

			refused(t, code, content, one.code, one.refusal.Message)
		})
	}
}

// If the API server cannot be asked, every request is refused.
func TestRequestsAreRefusedIfTheAPIServerCannotBeAsked(t *testing.T) {
	for _, one := range []struct {
		name, broken string
		code         int
		why          string
	}{
		{"who", tokenReviews, 401, "a bearer token is needed"},
		{"may", accessReviews, 503, "could not be asked for the user's rights"},
		{"creation", collection, 503, "creating PackingPlan"},
	} {
		t.Run(one.name, func(t *testing.T) {
			api := &apiServer{t: t, broken: one.broken}

			code, content := asked{token: creatorsToken}.send(t, api.serve())

			refused(t, code, content, one.code, one.why)
			if objects := api.objects(); len(objects) != 0 {
				t.Errorf("created %v", objects)
			}
		})
	}
}
