package priorityoptimizer

import (
	"errors"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Exactly the pod that was meant is evicted, through the Eviction API, in its own time.
func TestEvictionNamesThePodAndKeepsItsGrace(t *testing.T) {
	pod := testPod("p", 1, 0)
	client := fake.NewClientset(pod)
	var sent *policyv1.Eviction
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent, _ = action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		return true, sent, nil
	})

	if err := (evictor{client}).evict(t.Context(), pod); err != nil {
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

	err := evictor{client}.evict(t.Context(), meant)

	if !errors.Is(err, errGone) || len(client.Actions()) != 1 {
		t.Errorf("err = %v after %v", err, client.Actions())
	}
}

// The API's answers are told apart: gone, not now, and never.
func TestAnswersOfTheEvictionAPIAreToldApart(t *testing.T) {
	gone := apierrors.NewNotFound(policyv1.Resource("pods"), "p")
	later := apierrors.NewTooManyRequests("spent", 1)
	never := apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget"))
	for _, answer := range []error{gone, later, never} {
		client := fake.NewClientset(testPod("p", 1, 0))
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, answer
		})

		err := evictor{client}.evict(t.Context(), testPod("p", 1, 0))

		if errors.Is(err, errGone) != (answer == error(gone)) || errors.Is(err, errLater) != (answer == error(later)) {
			t.Errorf("%v became %v", answer, err)
		}
	}
}
