package simulation

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// KindsOfAnyMinor are the Kinds of the minors that the simulation is built for.
var KindsOfAnyMinor = kindsOfAnyMinor

// Listed are the resources that scheduler and plugin list when they are asked about plans that may move pods of Jobs.
func (s *Simulator) Listed(ctx context.Context) (sets.Set[schema.GroupVersionResource], error) {
	r, err := s.start(ctx, Instance{}, nil)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	r.informers = minor.NewInformerFactory(r.api.client, 0) // which list, as in a cluster
	if err := s.build(r); err != nil {
		return nil, err
	}
	if _, err := s.newPlanChecker(r, Question{Arguments: json.RawMessage(`{"evictJobs": true}`)}); err != nil {
		return nil, err
	}
	listed := sets.New[schema.GroupVersionResource]()
	for _, action := range r.api.client.Actions() {
		if action.Matches("list", action.GetResource().Resource) {
			listed.Insert(action.GetResource())
		}
	}
	return listed, nil
}

// AttemptWithoutPods lets the scheduler wait for a pod of which there is none.
func (s *Simulator) AttemptWithoutPods(ctx context.Context) error {
	r, err := s.start(ctx, Instance{}, nil)
	if err != nil {
		return err
	}
	defer r.stop()
	_, err = r.attempt()
	return err
}
