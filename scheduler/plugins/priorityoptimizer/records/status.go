package records

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

const (
	// MaxRefusals and maxTiers keep the status of a plan readable.
	MaxRefusals = 100
	MaxTiers    = 1000
	// MaxStatusBytes is the largest status of a plan: etcd accepts requests of 1.5 MiB, and the object also contains
	// what the API server records about it.
	MaxStatusBytes = 1 << 20
)

// SizeOf is the size of a status in bytes, as it is stored.
func SizeOf(status *packingplan.Status) int {
	encoded, err := json.Marshal(status.Stored())
	if err != nil {
		return MaxStatusBytes + 1 // plain structs always marshal
	}
	return len(encoded)
}

// DescribePlan puts the plan's steps into the status, and what the pods need that arrive.
func DescribePlan(status *packingplan.Status, of *plan.Plan) {
	status.Steps, status.Classes = nil, nil // of an earlier round
	classes := sets.New[string]()
	for _, step := range of.Steps() {
		pod := step.Pod
		made := &packingplan.Step{Unit: step.Unit, Pod: klog.KObj(pod.Object).String(), PodUID: string(pod.Object.UID),
			OwnerUID: string(pod.Owner), Class: pod.Class, From: step.From, To: step.To}
		if step.From != "" {
			made.State = packingplan.Waiting
		}
		status.Steps = append(status.Steps, made)
		if step.To != "" && !classes.Has(pod.Class) {
			classes.Insert(pod.Class)
			status.Classes = append(status.Classes, packingplan.Class{ID: pod.Class,
				Priority: corev1helpers.PodPriority(pod.Object), Requests: pod.Requests.List()})
		}
	}
}
