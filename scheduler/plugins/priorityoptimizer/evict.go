package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"

	"github.com/stowage/stowage/scheduler/snapshot"
)

var (
	// errGone: the pod is not there any more, or another one has its name.
	errGone = errors.New("the pod is gone")
	// errLater: something stands against it that may pass.
	errLater = errors.New("not now")
	// errBudget: a disruption budget is spent for now.
	errBudget = fmt.Errorf("%w: a disruption budget does not allow the eviction", errLater)
)

// newEvictionClient has the limits of the scheduler's own client, and a budget of its own. What the server puts
// off is put off here: the client would wait for the ten seconds that the server names for a budget it has not
// looked at yet, longer than any call may take.
func newEvictionClient(of *rest.Config) (clientset.Interface, error) {
	config := rest.CopyConfig(of)
	config.RateLimiter = nil
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noRetry{next} })
	return clientset.NewForConfig(config)
}

// noRetry takes the answers' advice to try again later away from the client, which would follow it.
type noRetry struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (u noRetry) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := u.next.RoundTrip(request)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// evictor evicts through the Eviction API, so that disruption budgets, admission and audit apply.
type evictor struct {
	client clientset.Interface
	pods   corelisters.PodLister
	// protected is the rule that forbids to disturb the pod as it is now, or "".
	protected func(*v1.Pod) string
}

// evict evicts exactly this pod, with its own grace period, unless it has come under protection meanwhile. What the
// informer shows is looked at first, because a UID that does not match costs a budget one of its disruptions.
func (e evictor) evict(ctx context.Context, pod *v1.Pod) error {
	live, err := e.pods.Pods(pod.Namespace).Get(pod.Name)
	switch {
	case apierrors.IsNotFound(err):
		return errGone
	case err != nil:
		return fmt.Errorf("looking at pod %s: %w", podName(pod), err)
	case live.UID != pod.UID || live.DeletionTimestamp != nil:
		return errGone
	}
	switch rule := e.protected(live); {
	case rule == "":
	case snapshot.IsPassing(rule):
		return fmt.Errorf("%w: pod %s is left alone for now: %s", errLater, podName(pod), rule)
	default:
		return fmt.Errorf("pod %s may not be moved any more: %s", podName(pod), rule)
	}
	uid := pod.UID
	err = e.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errGone
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("evicting pod %s: %w: %w", podName(pod), errBudget, err)
	case unanswered(err):
		return fmt.Errorf("evicting pod %s: %w: %w", podName(pod), errLater, err)
	}
	return fmt.Errorf("evicting pod %s: %w", podName(pod), err)
}

// unanswered says that nobody decided about the request: the time was up, or the server was not there.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err)
}
