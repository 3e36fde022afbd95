package reservations

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
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

// bind binds a pod that took from a reservation, or nothing, to n1.
func bind(t *testing.T, plugin *Plugin, taken *reservation.Taken) *fwk.Status {
	t.Helper()
	cycle := framework.NewCycleState()
	cycle.Write(stateKey, &state{taken: taken})
	return plugin.Bind(t.Context(), cycle, podOf("a"), "n1")
}

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
			live := podOf("a")
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

			status := bind(t, &Plugin{handle: connected{client: client}}, &reservation.Taken{Name: "r", UID: "r"})

			if status.IsSuccess() != c.want {
				t.Errorf("status %v", status)
			}
		})
	}
}

// A bound pod has the annotation if and only if it took from a reservation or a plan. A plan of thousands of arrivals and
// the pods outside it must not wait for each other's requests: the arrivals have a client of their own.
func TestBindingSaysWhatThePodTook(t *testing.T) {
	for text, c := range map[string]struct {
		taken *reservation.Taken
		own   bool
	}{
		"nothing":               {nil, false},
		"a part":                {&reservation.Taken{Name: "r", UID: "r"}, false},
		"the arrival of a plan": {&reservation.Taken{Name: "p", UID: "p", Planned: true}, true},
	} {
		var bindings []*v1.Binding
		owns := false
		recording := func(own bool) *fake.Clientset {
			client := fake.NewClientset()
			client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				bindings, owns = append(bindings, action.(clienttesting.CreateAction).GetObject().(*v1.Binding)), own
				return true, nil, nil
			})
			return client
		}

		status := bind(t, &Plugin{handle: connected{client: recording(false)}, arrivals: recording(true)}, c.taken)

		if !status.IsSuccess() || len(bindings) != 1 || owns != c.own {
			t.Fatalf("%s: %v, bound %d times, by the client for arrivals %t", text, status, len(bindings), owns)
		}
		binding := bindings[0]
		_, says := binding.Annotations[reservation.AllocatedAnnotation]
		if binding.Target.Name != "n1" || binding.UID != podOf("a").UID || says != (c.taken != nil) {
			t.Errorf("%s: %+v", text, binding)
		}
	}
}

// A process that was stopped until its lease had run out does not know the pods that its successor has bound meanwhile:
// it would give their room away again.
func TestNoPodIsBoundByAProcessThatHasLostTheLead(t *testing.T) {
	client := fake.NewClientset(testobjects.Lease("ns", "l", "another"))
	plugin := &Plugin{handle: connected{client: client}}
	plugin.Attach(&leadership.Lease{Client: client.CoordinationV1(), Namespace: "ns", Name: "l", Identity: "me"})

	status := bind(t, plugin, nil)

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
