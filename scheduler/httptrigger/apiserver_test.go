package httptrigger

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// The users. The API server does not know the last token.
const (
	creator        = "system:serviceaccount:batch:creator"
	outsider       = "system:serviceaccount:batch:outsider"
	creatorsToken  = "token-of-creator"
	outsidersToken = "token-of-outsider"
	anonymousToken = "token-of-no-user"
	unknownToken   = "token-of-a-stranger"
)

// What the API server is asked.
const (
	tokenReviews  = "/apis/authentication.k8s.io/v1/tokenreviews"
	accessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	collection    = "/apis/stowage.dev/v1alpha1/packingplans"
)

const givenUID = "3b0f6f6e-0001"

// apiServer fakes the API server that the trigger talks to.
type apiServer struct {
	t *testing.T
	// broken is a path that is answered with an error of the server's own.
	broken string
	// refusal is the answer to the creation of a plan, if it is to be refused.
	refusal *metav1.Status

	mu      sync.Mutex
	created []map[string]any
}

func (a *apiServer) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	content, err := io.ReadAll(request.Body)
	switch {
	case err != nil:
		a.t.Error(err)
	case request.URL.Path == a.broken:
		http.Error(writer, "out of order", http.StatusInternalServerError)
	case request.URL.Path == tokenReviews:
		a.reviewToken(writer, content)
	case request.URL.Path == accessReviews:
		a.reviewAccess(writer, content)
	case request.URL.Path == collection && request.Method == http.MethodPost:
		a.create(writer, content)
	default:
		a.t.Errorf("%s %s is none of the trigger's business", request.Method, request.URL.Path)
		http.NotFound(writer, request)
	}
}

func (a *apiServer) reviewToken(writer http.ResponseWriter, content []byte) {
	var review authenticationv1.TokenReview
	a.must(json.Unmarshal(content, &review))
	user, known := map[string]authenticationv1.UserInfo{
		creatorsToken:  {Username: creator, Groups: []string{"system:authenticated"}},
		outsidersToken: {Username: outsider, Groups: []string{"system:authenticated"}},
		anonymousToken: {Username: creator, Groups: []string{"system:unauthenticated"}},
	}[review.Spec.Token]
	review.Status.User, review.Status.Authenticated = user, known
	a.answer(writer, http.StatusCreated, review)
}

// reviewAccess grants all users every path, and anonymous users everything: neither may have an effect.
func (a *apiServer) reviewAccess(writer http.ResponseWriter, content []byte) {
	var review authorizationv1.SubjectAccessReview
	a.must(json.Unmarshal(content, &review))
	wanted := authorizationv1.ResourceAttributes{
		Verb: "create", Group: "stowage.dev", Version: "v1alpha1", Resource: "packingplans"}
	review.Status.Allowed = review.Spec.NonResourceAttributes != nil || review.Spec.User == "system:anonymous" ||
		review.Spec.User == creator && *review.Spec.ResourceAttributes == wanted
	a.answer(writer, http.StatusCreated, review)
}

func (a *apiServer) create(writer http.ResponseWriter, content []byte) {
	if a.refusal != nil {
		a.answer(writer, int(a.refusal.Code), a.refusal)
		return
	}
	var object map[string]any
	a.must(json.Unmarshal(content, &object))
	a.mu.Lock()
	a.created = append(a.created, object)
	a.mu.Unlock()
	object["metadata"].(map[string]any)["uid"] = givenUID
	a.answer(writer, http.StatusCreated, object)
}

func (a *apiServer) objects() []map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.created)
}

func (a *apiServer) answer(writer http.ResponseWriter, code int, with any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(code)
	a.must(json.NewEncoder(writer).Encode(with))
}

func (a *apiServer) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Error(err)
	}
}

// serve starts the trigger with the delegated authentication and authorisation of kube-scheduler, and returns
// its address.
func (a *apiServer) serve() string {
	a.t.Helper()
	api := httptest.NewServer(a)
	a.t.Cleanup(api.Close)
	kubeconfig := filepath.Join(a.t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: api.URL}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	a.must(clientcmd.WriteToFile(*config, kubeconfig))

	backoff := wait.Backoff{Steps: 1, Duration: time.Millisecond}
	authentication := options.NewDelegatingAuthenticationOptions()
	authentication.RemoteKubeConfigFile, authentication.SkipInClusterLookup = kubeconfig, true
	authentication.WithCustomRetryBackoff(backoff)
	authorization := options.NewDelegatingAuthorizationOptions().WithAlwaysAllowPaths(Path)
	authorization.RemoteKubeConfigFile = kubeconfig
	authorization.WithCustomRetryBackoff(backoff)
	var who server.AuthenticationInfo
	var may server.AuthorizationInfo
	a.must(authentication.ApplyTo(&who, &server.SecureServingInfo{}, nil))
	a.must(authorization.ApplyTo(&may))

	reach, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	a.must(err)
	client, err := dynamic.NewForConfig(reach)
	a.must(err)
	trigger := httptest.NewServer(New(who.Authenticator, may.Authorizer, packingplan.NewStore(client)))
	a.t.Cleanup(trigger.Close)
	return trigger.URL
}
