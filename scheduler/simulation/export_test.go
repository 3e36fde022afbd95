package simulation

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
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

// RemoveAfterSlowWatch removes a pod as soon as a process has begun anew whose informers take their time between list and
// watch.
func (s *Simulator) RemoveAfterSlowWatch(ctx context.Context, pod *v1.Pod) error {
	r, err := s.start(ctx, Instance{inVirtualTime: true}, nil)
	if err != nil {
		return err
	}
	defer func() { r.stop() }()
	if err := r.storePod(pod); err != nil {
		return err
	}
	r.api.client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // the slow API server that is imitated
		return false, nil, nil
	})
	if err := s.restart(ctx, r); err != nil {
		return err
	}
	return r.remove(podResource, pod.Namespace, pod.Name)
}
