package simulation

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/storage/ephemeral"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

var (
	claimResource = v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	classResource = storagev1.SchemeGroupVersion.WithResource("storageclasses")
)

// Run fills an instance and returns where its pods are.
func (s *Simulator) Run(ctx context.Context, instance Instance) (Result, error) {
	var replaced *lives
	if instance.Replace {
		replaced = newLives(map[string]string{}, func(*Life) error { return nil })
	}
	r, err := s.start(ctx, instance, replaced)
	if err != nil {
		return Result{}, err
	}
	defer r.stop()
	if err := r.addNodes(instance); err != nil {
		return Result{}, err
	}
	for i := range instance.Pods {
		if pod := instance.Pods[i].DeepCopy(); pod.Spec.NodeName != "" {
			r.api.start(pod)
			if err := r.arrive(pod); err != nil {
				return Result{}, err
			}
		}
	}
	var began measuring
	if instance.Measure {
		began = measure()
	}
	arrived, err := r.fill(instance)
	if err != nil {
		return Result{}, err
	}
	result := r.result(instance)
	if instance.Measure {
		result.Measurement = began.end(arrived)
	}
	return result, nil
}

// prepare creates what must exist before the scheduler starts, namespaces and further objects, and starts it.
func (r *run) prepare(instance Instance) error {
	namespaces := sets.New[string]()
	for i := range instance.Pods {
		namespaces.Insert(instance.Pods[i].Namespace)
	}
	for i := range instance.Objects {
		object := &instance.Objects[i]
		if err := object.create(r.api); err != nil && !r.observed {
			return fmt.Errorf("objects[%d]: %w", i, err)
		} else if err != nil {
			r.reading.leaveOut(object.kind().Kind,
				nameOf(object.meta().GetNamespace(), object.meta().GetName()), err.Error())
		} else if namespace, given := object.Object.(*v1.Namespace); given {
			namespaces.Delete(namespace.Name)
		}
	}
	for name := range namespaces {
		if err := r.api.Create(namespaceResource, namespaceOf(name), ""); err != nil {
			return err
		}
	}
	if err := r.watch(); err != nil || len(instance.Objects) == 0 { // to wait would take up to a tenth of a second for nothing
		return err
	}
	// A pod that comes before its group is known is not tried, and nobody waits for the group.
	return r.scheduler.WaitForHandlersSync(r.ctx)
}

func (r *run) addNodes(instance Instance) error {
	for i := range instance.Nodes {
		if err := r.putNode(instance.Nodes[i].DeepCopy()); err != nil {
			return fmt.Errorf("node %s: %w", instance.Nodes[i].Name, err)
		}
	}
	return nil
}

// arrive stores a pod and lets the scheduler settle.
func (r *run) arrive(pod *v1.Pod) error {
	if err := r.storePod(pod); err != nil {
		return err
	}
	return r.settle()
}

// fill has the pods arrive that have no node, and counts them.
func (r *run) fill(instance Instance) (arrived int, err error) {
	add := r.arrive
	if instance.Arrival == AtOnce {
		add = r.storePod
	}
	for i := range instance.Pods {
		if err := r.change(instance.Changes, i); err != nil {
			return 0, err
		}
		pod := instance.Pods[i].DeepCopy()
		if pod.Spec.NodeName != "" {
			continue
		}
		arrived++
		if pod.DeletionTimestamp == nil { // else the scheduler ignores it
			if err := add(pod); err != nil {
				return 0, err
			}
		}
		if stored, there := r.api.pod(key(pod)); instance.Once && there && stored.Spec.NodeName == "" {
			if err := r.remove(podResource, pod.Namespace, pod.Name); err != nil {
				return 0, err
			}
		}
	}
	if err := r.change(instance.Changes, len(instance.Pods)); err != nil {
		return 0, err
	}
	return arrived, r.settle()
}

// change makes the changes that are due before the pod of that number arrives, and lets the scheduler settle.
func (r *run) change(changes []Change, after int) error {
	for i, change := range changes {
		if change.After != after {
			continue
		}
		var err error
		switch {
		case change.Node != nil:
			err = r.putNode(change.Node.DeepCopy())
		case change.NodeGone != "":
			err = r.api.Delete(nodeResource, "", change.NodeGone)
		default:
			namespace, name := splitKey(change.PodGone)
			err = r.remove(podResource, namespace, name) // it may have been preempted meanwhile
		}
		if err != nil {
			return fmt.Errorf("changes[%d]: %w", i, err)
		}
		if err := r.settle(); err != nil {
			return err
		}
	}
	return nil
}

// result says where the pods are.
func (r *run) result(instance Instance) Result {
	result := Result{ID: instance.ID, Placements: make(map[string]string, len(instance.Pods)), Reasons: map[string]string{},
		Reading: r.reading}
	leftOut := sets.New[string]()
	for _, one := range r.reading.LeftOut {
		leftOut.Insert(one.Object)
	}
	for i := range instance.Pods {
		pod := &instance.Pods[i]
		name := key(pod)
		last := r.lives.lastOf(name)
		stored, there := r.api.pod(last)
		evicted := last != name
		if there {
			result.Placements[name] = stored.Spec.NodeName
		} else {
			result.Placements[name] = ""
			dismissed := instance.Once && r.reasons[name] != ""
			evicted = pod.Spec.NodeName != "" || pod.DeletionTimestamp == nil && !dismissed && !leftOut.Has("Pod "+name)
		}
		if evicted {
			result.Evicted = append(result.Evicted, name)
		}
		if result.Placements[name] == "" {
			if reason := r.reasons[last]; reason != "" {
				result.Reasons[name] = reason
			}
		} else if pod.Spec.NodeName == "" {
			result.Awaiting = append(result.Awaiting, r.awaiting(pod)...)
		}
	}
	slices.Sort(result.Evicted)
	return result
}

// awaiting says of a pod that was placed which of its volumes somebody has still to make: what becomes of the pod depends
// on that.
func (r *run) awaiting(pod *v1.Pod) []Remark {
	var remarks []Remark
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		var name string
		switch {
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		case volume.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(pod, volume)
		default:
			continue
		}
		if provisioner := r.provisioner(pod.Namespace, name); provisioner != "" {
			remarks = append(remarks, Remark{Object: "Pod " + key(pod),
				Reason: fmt.Sprintf("its claim %s has no volume yet, and %s has to make one", name, provisioner)})
		}
	}
	return remarks
}

// provisioner is who makes the volume of a claim that has none; empty for claims that are bound, or get a volume that is
// there. The scheduler places no pod without its claim and the claim's class.
func (r *run) provisioner(namespace, name string) string {
	claim, there := find[*v1.PersistentVolumeClaim](&r.api.tracker, claimResource, namespace, name)
	if !there || claim.Spec.VolumeName != "" {
		return ""
	}
	class, there := find[*storagev1.StorageClass](&r.api.tracker, classResource, "", storagehelpers.GetPersistentVolumeClaimClass(claim))
	if !there || class.Provisioner == storagehelpers.NotSupportedProvisioner {
		return ""
	}
	return class.Provisioner
}
