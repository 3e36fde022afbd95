package secureport

import (
	"errors"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/config"
)

// ErrClosed says that the scheduler serves nothing.
var ErrClosed = errors.New("the scheduler has no secure port; give it one with --secure-port")

// Add makes the handler answer the requests for one path. The handler authenticates and authorises them itself. The
// stock scheduler answers all others. Add must be called before the scheduler runs.
func Add(to *config.CompletedConfig, path string, handler http.Handler) error {
	if to.SecureServing == nil || to.Authentication.Authenticator == nil {
		return ErrClosed
	}
	listener := &bootstrapListener{Listener: to.SecureServing.Listener}
	to.SecureServing.Listener = listener
	to.Authentication.Authenticator = captureServer(to.Authentication.Authenticator, func(server *http.Server) {
		server.Handler = beside(server.Handler, path, handler)
		listener.reached.Store(true)
	})
	return nil
}

// captureServer wraps the authenticator, and calls captured with the server of the first request. Of the parts of the
// stock scheduler that can be replaced, only the authenticator sees requests.
func captureServer(before authenticator.Request, captured func(*http.Server)) authenticator.Request {
	var once sync.Once
	return authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		once.Do(func() {
			if server, ok := request.Context().Value(http.ServerContextKey).(*http.Server); ok {
				captured(server)
			}
		})
		return before.AuthenticateRequest(request)
	})
}

func beside(stock http.Handler, path string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.URL.Path == path {
			handler.ServeHTTP(writer, request)
			return
		}
		stock.ServeHTTP(writer, request)
	})
}
