package packingplan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
)

// objectType is what the API calls the objects.
var objectType = customobject.Type{Resource: Resource, Kind: Kind}

// Record is one PackingPlan object as it was last seen.
type Record struct {
	customobject.Object[Spec, Status]
}

// Ours says that the scheduler created it.
func (r *Record) Ours() bool { return r.Labels()[CreatedByLabel] == CreatedByValue }

// AwaitsApproval says that the plan is a proposal that no user has approved or aborted yet.
func (r *Record) AwaitsApproval() bool {
	return r.Status.Phase == Proposed && r.Spec.ExecutionMode == DryRun && !r.Spec.Abort
}

// Approved says that the plan was a proposal and is to be carried out.
func (r *Record) Approved() bool {
	return r.Status.Phase == Proposed && r.Spec.ExecutionMode == Execute && r.Status.CompletionTime != nil
}

// NewInformer watches the plans. It holds *Record values, which must not be changed: Read makes a copy.
func NewInformer(client dynamic.Interface) cache.SharedIndexInformer {
	return customobject.NewInformer(objectType, client, Read)
}

// Read reads an object of the API or a record, which must not be changed afterwards.
func Read(object any) (*Record, error) {
	read, err := customobject.Read[Spec, Status](objectType, object)
	if err != nil {
		return nil, err
	}
	if read.Spec.ExecutionMode == "" {
		read.Spec.ExecutionMode = DryRun
	}
	if read.Spec.Objective == "" {
		read.Spec.Objective = Place
	}
	if read.Spec.EmptiedNodes == "" {
		read.Spec.EmptiedNodes = Taint
	}
	read.Status.takeLists()
	return &Record{*read}, nil
}

// Outdated are the finished records beyond the newest limit ones.
func Outdated(records []*Record, limit int) []*Record {
	var finished []*Record
	for _, record := range records {
		if record.Status.Phase.Final() || record.AwaitsApproval() {
			finished = append(finished, record)
		}
	}
	if len(finished) <= limit {
		return nil
	}
	slices.SortFunc(finished, func(a, b *Record) int {
		if order := b.Completed().Compare(a.Completed()); order != 0 {
			return order
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return finished[limit:]
}

// Completed is when the plan ended or was proposed; before, when it was created.
func (r *Record) Completed() time.Time {
	if r.Status.CompletionTime == nil {
		return r.Created()
	}
	return r.Status.CompletionTime.Time
}
