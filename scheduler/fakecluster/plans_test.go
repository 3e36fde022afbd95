package fakecluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// plansAPI is the API server's part for PackingPlans.
type plansAPI struct {
	dynamic.NamespaceableResourceInterface // nil: no other requests are made
	*cluster
}

func (a plansAPI) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return a
}

// store stores a version of a plan.
func (a plansAPI) store(object *unstructured.Unstructured) {
	object.SetResourceVersion(a.nextVersion())
	a.plans[object.GetName()] = object
	if a.process != nil {
		a.process.plans.arriving = append(a.process.plans.arriving, change{at: a.clock.Now(), now: read(object)})
	}
}

func read(object *unstructured.Unstructured) *packingplan.Record {
	record, err := packingplan.Read(object)
	if err != nil {
		panic(err)
	}
	return record
}

func (a plansAPI) Create(_ context.Context, object *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	object.SetUID(types.UID("uid-" + object.GetName()))
	object.SetCreationTimestamp(metav1.NewTime(a.clock.Now()))
	object.SetGeneration(1)
	a.store(object)
	return object.DeepCopy(), nil
}

func (a plansAPI) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if a.plans[name] == nil {
		return nil, apierrors.NewNotFound(packingplan.Resource.GroupResource(), name)
	}
	return a.plans[name].DeepCopy(), nil
}

func (a plansAPI) UpdateStatus(ctx context.Context, written *unstructured.Unstructured, _ metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	object, err := a.Get(ctx, written.GetName(), metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, err
	case object.GetResourceVersion() != written.GetResourceVersion():
		return nil, apierrors.NewConflict(packingplan.Resource.GroupResource(), written.GetName(), fmt.Errorf("it was changed"))
	case !a.quiet && a.random.IntN(30) == 0:
		return nil, apierrors.NewServerTimeout(packingplan.Resource.GroupResource(), "update", 1)
	}
	before := read(object).Status.Phase
	object.Object["status"] = runtime.DeepCopyJSONValue(written.Object["status"])
	a.store(object)
	a.noteStatus(before, read(object))
	return object.DeepCopy(), nil
}

// noteStatus checks how a plan ends that was being carried out.
func (a plansAPI) noteStatus(before packingplan.Phase, now *packingplan.Record) {
	if before == now.Status.Phase {
		return
	}
	a.tell("%s is %s: %s", now.Name(), now.Status.Phase, now.Status.Message)
	if now.Status.Phase == packingplan.Executing {
		for _, one := range now.Status.Steps {
			a.tell("  %s goes from %q to %q", one.Pod, one.From, one.To)
		}
	}
	if before != packingplan.Executing {
		return
	}
	if now.Status.Phase != packingplan.Completed {
		for _, one := range now.Status.Steps {
			a.tell("  %s was to go from %q to %q: %s", one.Pod, one.From, one.To, one.State)
		}
	}
	switch message := now.Status.Message; {
	case now.Status.Phase == packingplan.Completed:
		if a.ended[string(now.Status.Phase)]++; a.disturbed == (disturbances{}) {
			a.checkArrivals(now)
		}
	case strings.Contains(message, forRoom):
		if a.ended[forRoom]++; !a.disturbed.foreign {
			a.fail("%s was aborted for room that nobody else has taken: %s", now.Name(), message)
		}
	case a.disturbed == (disturbances{}):
		a.fail("%s was aborted for no reason: %s", now.Name(), message)
	}
}

// checkArrivals checks that a completed plan has brought pods to all of its places.
func (a plansAPI) checkArrivals(of *packingplan.Record) {
	type site struct{ owner, node string }
	missing := map[site]int{}
	for _, step := range of.Status.Steps {
		if step.To != "" && step.State != packingplan.NotNeeded {
			missing[site{step.OwnerUID, step.To}]++
		}
	}
	for _, pod := range a.pods {
		missing[site{string(pod.OwnerReferences[0].UID), pod.Spec.NodeName}]--
	}
	for at, pods := range missing {
		if pods > 0 {
			a.fail("%s is completed, and %d pods of %s have not come to %s", of.Name(), pods, at.owner, at.node)
		}
	}
}

// forRoom is part of the message of plans that are aborted for room.
const forRoom = "has too little"

func (a plansAPI) Delete(_ context.Context, name string, _ metav1.DeleteOptions, _ ...string) error {
	if object := a.plans[name]; object != nil && a.process != nil {
		a.process.plans.arriving = append(a.process.plans.arriving, change{at: a.clock.Now(), before: read(object)})
	}
	delete(a.plans, name)
	return nil
}

func (a plansAPI) Patch(_ context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	var fields struct{ Spec map[string]any }
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	object := a.plans[name].DeepCopy()
	for field, value := range fields.Spec {
		if err := unstructured.SetNestedField(object.Object, value, "spec", field); err != nil {
			return nil, err
		}
	}
	a.store(object)
	return object, nil
}
