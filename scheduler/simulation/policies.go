package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// PlanTold is a plan that has ended, or that nobody ended before the time was over.
type PlanTold struct {
	At     float64            `json:"at"`
	Name   string             `json:"name"`
	Policy string             `json:"policy,omitempty"`
	Spec   packingplan.Spec   `json:"spec"`
	Status packingplan.Status `json:"status"`
}

// WindowTold is a window of a policy that is over, as it is in the policy's status.
type WindowTold struct {
	At     float64 `json:"at"`
	Policy string  `json:"policy"`
	packingpolicy.Window
}

// PolicyTold is a policy as it is when the time is over.
type PolicyTold struct {
	At     float64              `json:"at"`
	Name   string               `json:"name"`
	Status packingpolicy.Status `json:"status"`
}

// applyPolicy has a policy be there from now on.
func (v *virtualTime) applyPolicy(raw json.RawMessage) error {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return err
	}
	object.SetAPIVersion(packingpolicy.Resource.GroupVersion().String())
	object.SetKind(packingpolicy.Kind)
	switch {
	case v.planning == nil:
		return fmt.Errorf("policy %s: the profile has no optimiser that could make its plans", object.GetName())
	case object.GetName() == "":
		return fmt.Errorf("policy: metadata.name is missing")
	}
	if _, err := packingpolicy.Read(object.DeepCopy()); err != nil {
		return err
	}
	err := v.planning.api.apply(packingpolicy.Resource, object)
	v.run.events.deliver()
	return err
}

// tellPolicies writes a line for each plan and window that has ended since the last time; at the end, also for those that
// have not, and for each policy.
func (v *virtualTime) tellPolicies(atEnd bool) error {
	p := v.planning
	if p == nil {
		return nil
	}
	for _, record := range customobject.Records[*packingplan.Record](p.plans.GetStore()) {
		if p.told[string(record.UID())] || !atEnd && !record.Status.Phase.Final() {
			continue
		}
		p.told[string(record.UID())] = true
		if err := v.out.Encode(map[string]PlanTold{"plan": {v.lives.now, record.Name(), record.Labels()[packingpolicy.PolicyLabel],
			record.Spec, *record.Status.Stored()}}); err != nil {
			return err
		}
	}
	for _, policy := range p.allPolicies() {
		same := map[time.Time]int{} // a window that is listed twice is told twice
		for _, window := range slices.Backward(policy.Status.Windows) {
			same[window.Start.UTC()]++
			key := fmt.Sprintf("%s %s %d", policy.Name(), window.Start.UTC(), same[window.Start.UTC()])
			if p.told[key] || window.Phase == packingpolicy.Open && !atEnd {
				continue
			}
			p.told[key] = true
			if err := v.out.Encode(map[string]WindowTold{"window": {v.lives.now, policy.Name(), window}}); err != nil {
				return err
			}
		}
		if !atEnd {
			continue
		}
		if err := v.out.Encode(map[string]PolicyTold{"policy": {v.lives.now, policy.Name(), policy.Status}}); err != nil {
			return err
		}
	}
	return nil
}
