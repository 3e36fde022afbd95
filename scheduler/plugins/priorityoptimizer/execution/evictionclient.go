package execution

import (
	"net/http"

	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// NewEvictionClient has the same rate limit as the scheduler's own client, counted separately. It does not follow the
// server's Retry-After: for a disruption budget that has no status yet the server names ten seconds, which is longer
// than any call may take.
func NewEvictionClient(of *rest.Config) (clientset.Interface, error) {
	config := rest.CopyConfig(of)
	config.RateLimiter = nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noRetry{next} })
	return clientset.NewForConfig(config)
}

// noRetry removes the Retry-After header from responses, which the client would follow.
type noRetry struct{ next http.RoundTripper }

func (u noRetry) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := u.next.RoundTrip(request)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}
