package reservations

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/reservation"
)

// Where nothing is reserved, which is most of the time, the plugin neither filters nor scores a single node. Where room is
// reserved, it does, for the owners and for all other pods.
func TestNodesAreAskedOnlyWhereSomethingIsReserved(t *testing.T) {
	for name, c := range map[string]struct {
		reserved         bool
		app              string
		filtered, scored bool
	}{
		"nothing is reserved": {app: "a"},
		"for the pod":         {reserved: true, app: "a", scored: true},
		"for others":          {reserved: true, app: "b", filtered: true},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := reservation.NewLedger()
			if c.reserved {
				ledger.Put(roomFor(t, "a"))
			}
			plugin, err := New(nil, connected{}, ledger, false)
			if err != nil {
				t.Fatal(err)
			}
			cycle, pod := framework.NewCycleState(), podOf(c.app)

			_, filter := plugin.PreFilter(context.Background(), cycle, pod, nil)
			score := plugin.PreScore(context.Background(), cycle, pod, nil)

			if filter.IsSkip() == c.filtered || score.IsSkip() == c.scored {
				t.Errorf("PreFilter %v, PreScore %v", filter, score)
			}
		})
	}
}

func roomFor(t *testing.T, app string) *reservation.Record {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"name": "c", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}}}},
			"owners": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": app}}}},
		},
		"status": map[string]any{"phase": "Available", "nodeName": "n1"},
	}}
	object.SetName("room")
	object.SetUID("room")
	record, err := reservation.Read(object)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func podOf(app string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: types.UID("p"), Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")}}}}},
	}
}
