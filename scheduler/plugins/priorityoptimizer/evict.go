package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
)

var (
	// errGone: the pod is not there any more, or another one has its name.
	errGone = errors.New("the pod is gone")
	// errLater: something stands against it that may pass.
	errLater = errors.New("not now")
	// errBudget: a disruption budget is spent for now.
	errBudget = fmt.Errorf("%w: a disruption budget does not allow the eviction", errLater)
)

// evictor evicts through the Eviction API, so that disruption budgets, admission and audit apply.
type evictor struct {
	client clientset.Interface
}

// evict evicts exactly this pod, with its own grace period. The live look comes first because a
// UID that does not match costs a budget one of its disruptions.
func (e evictor) evict(ctx context.Context, pod *v1.Pod) error {
	live, err := e.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return errGone
	case err != nil:
		return fmt.Errorf("looking at pod %s/%s: %w", pod.Namespace, pod.Name, err)
	case live.UID != pod.UID || live.DeletionTimestamp != nil:
		return errGone
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
		return fmt.Errorf("evicting pod %s/%s: %w: %w", pod.Namespace, pod.Name, errBudget, err)
	}
	return fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
}
