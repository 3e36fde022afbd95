package reservations

import (
	"context"
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/reservation"
)

// connected is a handle with a client, and nothing else.
type connected struct {
	fwk.Handle
	client kubernetes.Interface
}

func (c connected) ClientSet() kubernetes.Interface { return c.client }
func (connected) KubeConfig() *rest.Config          { return nil }

// A server that is killed may have stored a binding without answering. Then the pod is on its node, whatever the error
// says: to schedule it again would give its room away twice.
func TestBindingWhoseAnswerIsLostIsLookedUp(t *testing.T) {
	lost := errors.New("connection reset by peer")
	for text, c := range map[string]struct {
		err    error
		stored string
		want   bool
	}{
		"answered":       {nil, "", true},
		"stored":         {lost, "n1", true},
		"not stored":     {lost, "", false},
		"elsewhere":      {lost, "n2", false},
		"timed out":      {apierrors.NewTimeoutError("slow", 1), "n1", true},
		"refused":        {apierrors.NewForbidden(v1.Resource("pods"), "p", errors.New("no right")), "n1", false},
		"already placed": {apierrors.NewConflict(v1.Resource("pods"), "p", errors.New("bound")), "n1", false},
	} {
		t.Run(text, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "uid"}}
			live := pod.DeepCopy()
			live.Spec.NodeName = c.stored
			client := fake.NewClientset(live)
			client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, c.err
			})
			away := 2
			client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				away--
				return away >= 0, nil, lost
			})
			cycle := framework.NewCycleState()
			cycle.Write(stateKey, &state{taken: &reservation.Taken{Name: "r", UID: "r"}})
			plugin := &Plugin{handle: connected{client: client}}

			status := plugin.Bind(context.Background(), cycle, pod, "n1")

			if status.IsSuccess() != c.want {
				t.Errorf("status %v", status)
			}
		})
	}
}

// A bound pod has the annotation if and only if it took from a reservation.
func TestBindingSaysWhatThePodTook(t *testing.T) {
	for text, taken := range map[string]*reservation.Taken{"nothing": nil, "a part": {Name: "r", UID: "r"}} {
		client := fake.NewClientset()
		var binding *v1.Binding
		client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			binding = action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
			return true, nil, nil
		})
		cycle := framework.NewCycleState()
		cycle.Write(stateKey, &state{taken: taken})
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "uid"}}

		status := (&Plugin{handle: connected{client: client}}).Bind(context.Background(), cycle, pod, "n1")

		_, says := binding.Annotations[reservation.AllocatedAnnotation]
		if !status.IsSuccess() || binding.Target.Name != "n1" || binding.UID != "uid" || says != (taken != nil) {
			t.Errorf("%s: %v, %+v", text, status, binding)
		}
	}
}

// A process that was stopped until its lease had run out does not know the pods that its successor has bound meanwhile:
// it would give their room away again.
func TestNoPodIsBoundByAProcessThatHasLostTheLead(t *testing.T) {
	another := "another"
	client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &another}})
	plugin := &Plugin{handle: connected{client: client}}
	plugin.Attach(&leadership.Lease{Client: client.CoordinationV1(), Namespace: "ns", Name: "l", Identity: "me"})
	cycle := framework.NewCycleState()
	cycle.Write(stateKey, &state{})
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "uid"}}

	status := plugin.Bind(context.Background(), cycle, pod, "n1")

	var lost *leadership.LostError
	if !errors.As(status.AsError(), &lost) {
		t.Errorf("status %v", status)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "create" {
			t.Errorf("%v", action)
		}
	}
}

// A plan of thousands of arrivals and the pods outside it must not wait for each other's requests.
func TestArrivalsOfPlansHaveABudgetOfTheirOwn(t *testing.T) {
	for text, c := range map[string]struct {
		taken *reservation.Taken
		own   bool
	}{
		"a pod without a plan":   {nil, false},
		"a pod of a reservation": {&reservation.Taken{Name: "r", UID: "r"}, false},
		"the arrival of a plan":  {&reservation.Taken{Name: "p", UID: "p", Planned: true}, true},
	} {
		t.Run(text, func(t *testing.T) {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "uid"}}
			usual, arrivals := fake.NewClientset(pod.DeepCopy()), fake.NewClientset(pod.DeepCopy())
			plugin := &Plugin{handle: connected{client: usual}, arrivals: arrivals}
			cycle := framework.NewCycleState()
			cycle.Write(stateKey, &state{taken: c.taken})

			if status := plugin.Bind(t.Context(), cycle, pod, "n1"); !status.IsSuccess() {
				t.Fatal(status)
			}

			if own := len(arrivals.Actions()) == 1; own != c.own || len(usual.Actions())+len(arrivals.Actions()) != 1 {
				t.Errorf("bound by its own client: %v, want %v", own, c.own)
			}
		})
	}
}
