package reservation

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// createdAtOnce bounds the calls under way when a plan's room is reserved.
const createdAtOnce = 8

// Arrival is a pod that a plan sends to a node.
type Arrival struct {
	Pod  *v1.Pod
	Node string
	// Replaced says that another pod of the same controller will arrive, not this one.
	Replaced bool
}

// Rooms holds the room that plans make.
type Rooms struct {
	Store  *Store
	Ledger *Ledger
}

// Hold reserves the room of every arrival before the plan begins. What it could not reserve is
// an error, and the caller releases the rest.
func (r *Rooms) Hold(ctx context.Context, plan metav1.OwnerReference, arrivals []Arrival, lasts time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(createdAtOnce)
	for i, arrival := range arrivals {
		group.Go(func() error {
			record, err := r.Store.Create(ctx, metadataFor(plan, i), specFor(arrival, lasts))
			if err != nil {
				return err
			}
			// The plan's pods may come as soon as the room is there; nobody has to find it out first.
			record.Status.Phase, record.Status.NodeName = Waiting, arrival.Node
			r.Ledger.Put(record)
			return nil
		})
	}
	return group.Wait()
}

// Release ends all that was reserved for the plan.
func (r *Rooms) Release(ctx context.Context, plan string) error {
	r.Ledger.RemovePlan(plan)
	return r.Store.DeletePlan(ctx, plan)
}

func metadataFor(plan metav1.OwnerReference, number int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            fmt.Sprintf("%s-%d", plan.Name, number),
		Labels:          map[string]string{PlanLabel: plan.Name},
		OwnerReferences: []metav1.OwnerReference{plan},
	}
}

// specFor reserves room, and nothing else of what the pod demands: that was checked with the plan.
func specFor(arrival Arrival, lasts time.Duration) Spec {
	pod := arrival.Pod
	template := &v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace},
		Spec: v1.PodSpec{
			NodeName: arrival.Node, SchedulerName: pod.Spec.SchedulerName, Priority: pod.Spec.Priority,
			Containers: onlyRequests(pod.Spec.Containers), InitContainers: onlyRequests(pod.Spec.InitContainers),
			Overhead: pod.Spec.Overhead, Resources: pod.Spec.Resources,
		},
	}
	owner := Owner{Object: &v1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	if controller := metav1.GetControllerOf(pod); arrival.Replaced && controller != nil {
		owner = Owner{Controller: &ControllerReference{OwnerReference: *controller, Namespace: pod.Namespace}}
	}
	return Spec{Template: template, Owners: []Owner{owner}, PreAllocation: true, TTL: &metav1.Duration{Duration: lasts}}
}

func onlyRequests(containers []v1.Container) []v1.Container {
	var reduced []v1.Container
	for _, container := range containers {
		reduced = append(reduced, v1.Container{Name: container.Name, RestartPolicy: container.RestartPolicy,
			Resources: v1.ResourceRequirements{Requests: container.Resources.Requests}})
	}
	return reduced
}
