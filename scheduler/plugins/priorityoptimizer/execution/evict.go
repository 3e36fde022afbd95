package execution

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
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

var (
	// errGone: the pod no longer exists, or another one has its name.
	errGone = errors.New("the pod is gone")
	// errLater: the eviction is not possible now, but may be later.
	errLater = errors.New("not now")
	// errBudget: a disruption budget allows no eviction for now.
	errBudget = fmt.Errorf("%w: a disruption budget does not allow the eviction", errLater)
	// errUnanswered: the pod may have been evicted or not.
	errUnanswered = fmt.Errorf("%w: the server did not say whether it evicted the pod", errLater)
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

// evictor evicts through the Eviction API, so that disruption budgets, admission and audit apply.
type evictor struct {
	client clientset.Interface
	view   *clusterview.View
	// protected is the rule that forbids a disruption of the pod as it is now, or "".
	protected func(*v1.Pod) string
}

// evict evicts exactly this pod, with its own grace period, unless it has become protected meanwhile. The informer's
// copy is checked first, because an eviction whose UID does not match still uses up one disruption of the budget.
func (e evictor) evict(ctx context.Context, pod *v1.Pod) error {
	live := e.view.Live(pod)
	if live == nil || live.DeletionTimestamp != nil {
		return errGone
	}
	switch rule := e.protected(live); {
	case rule == "":
	case snapshot.IsPassing(rule):
		return fmt.Errorf("%w: pod %s is left alone for now: %s", errLater, klog.KObj(pod).String(), rule)
	default:
		return fmt.Errorf("pod %s may not be moved any more: %s", klog.KObj(pod).String(), rule)
	}
	uid := pod.UID
	err := e.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errGone
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("evicting pod %s: %w: %w", klog.KObj(pod).String(), errBudget, err)
	case records.Unanswered(err):
		return fmt.Errorf("evicting pod %s: %w: %w", klog.KObj(pod).String(), errUnanswered, err)
	}
	return fmt.Errorf("evicting pod %s: %w", klog.KObj(pod).String(), err)
}

// evictorFor evicts under the rules of a plan.
func (r *Runner) evictorFor(rules snapshot.Rules) evictor {
	return evictor{r.Client, r.View, func(pod *v1.Pod) string {
		unplaced := 0
		if execution := r.Gate.Execution.Load(); execution != nil {
			unplaced = execution.LeftUnplaced(pod)
		}
		return r.View.Protected(pod, rules, unplaced)
	}}
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
