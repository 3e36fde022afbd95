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
	// errGone: the pod no longer exists, or another one has its name.
	errGone = errors.New("the pod is gone")
	// errLater: the eviction is not possible now, but may be later.
	errLater = errors.New("not now")
	// errBudget: a disruption budget allows no eviction for now.
	errBudget = fmt.Errorf("%w: a disruption budget does not allow the eviction", errLater)
)

// newEvictionClient has the same rate limit as the scheduler's own client, counted separately. It does not follow the
// server's Retry-After: for a disruption budget that has no status yet the server names ten seconds, which is longer
// than any call may take.
func newEvictionClient(of *rest.Config) (clientset.Interface, error) {
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

// evictor evicts through the Eviction API, so that disruption budgets, admission and audit apply.
type evictor struct {
	client clientset.Interface
	pods   corelisters.PodLister
	// protected is the rule that forbids a disruption of the pod as it is now, or "".
	protected func(*v1.Pod) string
}

// evict evicts exactly this pod, with its own grace period, unless it has become protected meanwhile. The informer's
// copy is checked first, because an eviction whose UID does not match still uses up one disruption of the budget.
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

// evictorFor evicts under the rules of a plan.
func (l *loop) evictorFor(rules snapshot.Rules) evictor {
	return evictor{l.evictions, l.plugin.view.pods, l.plugin.protected(rules)}
}

// protected tells, under the rules of a plan, which one forbids a disruption of a pod as it is now; "" is none.
func (p *Plugin) protected(rules snapshot.Rules) func(*v1.Pod) string {
	return func(pod *v1.Pod) string {
		unplaced := 0
		if execution := p.Execution.Load(); execution != nil {
			unplaced = execution.LeftUnplaced(pod)
		}
		return p.view.protected(pod, rules, unplaced)
	}
}

// unanswered says that the server did not decide about the request: it timed out or was unavailable.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err)
}

// refusalLabel is the metric's reason for an eviction that was refused.
func refusalLabel(err error) string {
	switch {
	case errors.Is(err, errBudget):
		return "DisruptionBudget"
	case errors.Is(err, errLater):
		return "Later"
	}
	return "Forbidden"
}
