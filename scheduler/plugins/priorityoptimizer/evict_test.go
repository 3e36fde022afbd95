package priorityoptimizer

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// evictorOf evicts from a cluster of these pods.
func evictorOf(t *testing.T, client *fake.Clientset, pods ...*v1.Pod) evictor {
	t.Helper()
	return evictor{client, viewOf(t, pods...).pods, func(pod *v1.Pod) string { return pod.Annotations[snapshot.DoNotMove] }}
}

// Exactly the given pod is evicted, through the Eviction API, with its own grace period.
func TestEvictionNamesThePodAndKeepsItsGrace(t *testing.T) {
	pod := testPod("p", 1, 0)
	client := fake.NewClientset(pod)
	var sent *policyv1.Eviction
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent, _ = action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		return true, sent, nil
	})

	if err := evictorOf(t, client, pod).evict(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	if options := sent.DeleteOptions; *options.Preconditions.UID != pod.UID || options.GracePeriodSeconds != nil {
		t.Errorf("options = %+v, want the UID and no grace period", options)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "delete" {
			t.Error("a pod was deleted")
		}
	}
}

// A pod of the same name is another pod; its eviction is not even tried.
func TestAnotherPodOfTheSameNameIsNotEvicted(t *testing.T) {
	client := fake.NewClientset(testPod("p", 1, 0))
	meant := testPod("p", 1, 0)
	meant.UID = "former"

	err := evictorOf(t, client, testPod("p", 1, 0)).evict(t.Context(), meant)

	if !errors.Is(err, errGone) || len(client.Actions()) != 0 {
		t.Errorf("err = %v after %v", err, client.Actions())
	}
}

// The API's answers mean: gone, not now, or never.
func TestAnswersOfTheEvictionAPIAreDistinguished(t *testing.T) {
	gone := apierrors.NewNotFound(policyv1.Resource("pods"), "p")
	later := apierrors.NewTooManyRequests("spent", 1)
	never := apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget"))
	slow := apierrors.NewTimeoutError("the server is busy", 1)
	for answer, want := range map[error]error{gone: errGone, later: errLater, never: nil, slow: errLater, context.DeadlineExceeded: errLater} {
		client := fake.NewClientset(testPod("p", 1, 0))
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, answer
		})

		err := evictorOf(t, client, testPod("p", 1, 0)).evict(t.Context(), testPod("p", 1, 0))

		if errors.Is(err, errGone) != errors.Is(want, errGone) || errors.Is(err, errLater) != errors.Is(want, errLater) {
			t.Errorf("%v became %v", answer, err)
		}
	}
}

// A user may protect a pod while a plan that moves it is being carried out.
func TestPodThatHasBecomeProtectedIsNotEvicted(t *testing.T) {
	pod := testPod("p", 1, 0)
	client := fake.NewClientset(pod)
	guarded := pod.DeepCopy()
	guarded.Annotations = map[string]string{snapshot.DoNotMove: "true"}

	err := evictorOf(t, client, guarded).evict(t.Context(), pod)

	if err == nil || errors.Is(err, errGone) || errors.Is(err, errLater) || len(client.Actions()) != 0 {
		t.Errorf("err = %v after %v", err, client.Actions())
	}
}
