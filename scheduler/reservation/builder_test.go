package reservation_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
)

// reserved is a reservation of so much CPU on a node for the pods of an app.
func reserved(t testing.TB, name, node, cpu, app string, changes ...func(*unstructured.Unstructured)) *reservation.Record {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"template": map[string]any{"spec": map[string]any{"priority": int64(5), "containers": []any{map[string]any{
				"name": "c", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}}},
			"owners": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": app}}}},
		},
		"status": map[string]any{"phase": "Available", "nodeName": node},
	}}
	object.SetName(name)
	object.SetUID(types.UID("uid-" + name))
	for _, change := range changes {
		change(object)
	}
	record, err := reservation.Read(object)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func inPhase(phase string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		object.Object["status"].(map[string]any)["phase"] = phase
	}
}

func podOf(app, name, cpu string, priority int32) *v1.Pod {
	yes := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app,
				UID: types.UID("rs-" + app), Controller: &yes}}},
		Spec: v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}},
	}
}

func ofGeneration(generation int64) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) { object.SetGeneration(generation) }
}

// planOf is a PackingPlan with that status.
func planOf(t *testing.T, name string, status packingplan.Status) *packingplan.Record {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}, "status": content}}
	object.SetName(name)
	object.SetUID(types.UID("uid-" + name))
	record, err := packingplan.Read(object)
	if err != nil {
		t.Fatal(err)
	}
	return record
}
