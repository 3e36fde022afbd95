package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// arriveOne has a pod come. If another of its name is still there, because it got its node later than it did when it was
// recorded, that one goes first.
func (v *virtualTime) arriveOne(arrival *ArrivingPod) error {
	if former := v.lives.last[arrival.Name]; former != nil {
		if _, err := v.takeAway(former, former.arrival.How, false); err != nil {
			return err
		}
	}
	template := v.timeline.templates[arrival.Of]
	if template == nil {
		v.timeline.leaveOut("Pod", arrival.Name, fmt.Sprintf("there is no template %q that makes sense", arrival.Of))
		return nil
	}
	if arrival.Node != "" {
		if _, there := find[*v1.Node](&v.api.tracker, nodeResource, "", arrival.Node); !there {
			v.timeline.leaveOut("Pod", arrival.Name, fmt.Sprintf("its node %q is not there", arrival.Node))
			return nil
		}
	}
	pod := v.lives.begin(arrival, template)
	pod.CreationTimestamp = metav1.NewTime(v.clock.Now())
	if err := v.ensureNamespace(pod.Namespace); err != nil {
		return err
	}
	if pod.Spec.NodeName != "" {
		v.api.start(pod)
		v.api.run(pod) // it was there before
	}
	return v.storePod(pod)
}

func (v *virtualTime) ensureNamespace(name string) error {
	if _, there := find[*v1.Namespace](&v.api.tracker, namespaceResource, "", name); there {
		return nil
	}
	return v.put(namespaceResource, namespaceOf(name))
}

// takeAway has a pod end; the scheduler may have lost it before. With again, its owner makes the next one, which is
// returned: nil if it has none.
func (v *virtualTime) takeAway(life *Life, how string, again bool) (*v1.Pod, error) {
	gone, there := v.api.pod(life.Pod)
	namespace, name := splitKey(life.Pod)
	if err := v.remove(podResource, namespace, name); err != nil {
		return nil, err
	}
	if !again || !there {
		v.lives.end(life, how)
		return nil, nil
	}
	next := v.lives.replace(gone, how)
	if next == nil {
		return nil, nil
	}
	next.CreationTimestamp = metav1.NewTime(v.clock.Now())
	return next, v.storePod(next)
}

// loseNode removes a node and its pods, in the order of their names; their controllers make new ones, unless each is for
// one node.
func (v *virtualTime) loseNode(node string) error {
	if err := v.remove(nodeResource, "", node); err != nil {
		return err
	}
	for _, pod := range slices.Sorted(maps.Keys(v.lives.there)) {
		life := v.lives.there[pod]
		if life.Node != node {
			continue
		}
		if _, err := v.takeAway(life, howNodeGone, life.class.owner.Kind != daemonSet); err != nil {
			return err
		}
	}
	return nil
}

// putObject stores an object in place of the one of its name, if there is one.
func (v *virtualTime) putObject(object *Object) error {
	switch changed := object.Object.(type) {
	case *policyv1.PodDisruptionBudget:
		v.watchBudget(changed.DeepCopy())
	case *resourceapi.ResourceClaim: // which devices it has is for the scheduler to say
		if before, there := find[*resourceapi.ResourceClaim](
			&v.api.tracker, deviceClaimResource, changed.Namespace, changed.Name); there {
			changed.Status = before.Status
		}
	case *resourceapi.ResourceClaimTemplate:
		return errors.Join(v.put(deviceTemplateResource, changed), v.makeClaimsFrom(changed))
	}
	return v.put(resourceOf(object.kind()), object.Object.(apiObject))
}

func (v *virtualTime) removeObject(name *ObjectName) error {
	for kind := range Kinds {
		if kind.Kind != name.Kind {
			continue
		}
		if resourceOf(kind) == budgetResource {
			delete(v.guards[name.Namespace], name.Name)
		}
		return v.remove(resourceOf(kind), name.Namespace, name.Name)
	}
	return nil // the scheduler does not read it
}
