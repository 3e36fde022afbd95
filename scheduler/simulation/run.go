package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

const (
	betweenPods = time.Millisecond
	// betweenAttempts keeps pods that failed one after the other in that order: the queue sorts pods by the time at which
	// they came back, and those of the same time in any order.
	betweenAttempts = time.Microsecond
	// attemptsPerPod bounds how often a pod may be tried while no other pod is bound. Each binding may wake all pending
	// pods once; with a plugin that wakes them without end, the scheduler would never settle.
	attemptsPerPod = 10
)

// run is one scheduler at work on one instance.
type run struct {
	ctx       context.Context
	cancel    context.CancelFunc
	events    *eventQueue
	api       *api
	informers informers.SharedInformerFactory
	scheduler *scheduler.Scheduler
	clock     *testingclock.FakeClock
	// taken is how many pods are tried in the attempt under way: one, or those of a pod group; attempts is how many were.
	taken    int
	attempts int
	outcomes chan outcome
	// passed is how many were not tried, because an equal one had just been.
	passed int
	stuck  stuck
	// note keeps what became of a pod and says whether it was bound; leave has one take no part that would be tried without
	// end.
	note  func(ended outcome) (bound bool, err error)
	leave func(pod *v1.Pod, reason error) error
	// lives has preempted pods come back.
	lives *lives
	// planning makes plans; nil without the optimiser.
	planning *planning
	// devices gives devices to pods that come with their node; nil until there is one.
	devices *dynamicresources.DynamicResources
	// observed instances lose the pods that the scheduler fails on; others fail with them.
	observed bool
	reading  Reading
	// reasons is why each pod that was tried last had no node, by namespace/name.
	reasons map[string]string
}

// outcome is how an attempt ended for a pod: bound or unschedulable if err is nil, else a scheduler's error.
type outcome struct {
	pod    *v1.Pod
	reason string
	err    error
}

func (r *run) report(o outcome) {
	select {
	case r.outcomes <- o:
	case <-r.ctx.Done():
	}
}

// expectOutcomes makes room for one outcome of each pod that the scheduler takes: the failures of a group are reported
// before the attempt is over.
func (r *run) expectOutcomes(pods int) {
	r.taken, r.outcomes = pods, make(chan outcome, pods)
}

// reportFailures makes the scheduler report each attempt that failed, after it has handled the failure.
func (r *run) reportFailures() {
	handle := r.scheduler.FailureHandler
	r.scheduler.FailureHandler = func(
		ctx context.Context, fw framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time,
	) {
		// Read now: once the pod is back in the queue, informer events change it there.
		result := outcome{pod: pod.Pod, reason: reasonOf(status)}
		r.stuck.failed(pod.Pod, status, nominating)
		handle(ctx, fw, pod, status, nominating, start)
		if !status.IsRejected() {
			result.err = status.AsError()
		}
		r.report(result)
	}
}

// stop ends every goroutine of the run and returns when the informers' have ended.
func (r *run) stop() {
	r.cancel()
	_ = r.scheduler.Profiles.Close() // a plugin that fails to close has nothing left to spoil
	r.informers.Shutdown()
}

// watch starts the informers that have been asked for since it was last called, and has all of them know what there is.
func (r *run) watch() error {
	r.informers.StartWithContext(r.ctx)
	if err := r.informers.WaitForCacheSyncWithContext(r.ctx).AsError(); err != nil {
		return fmt.Errorf("starting the scheduler's informers: %w", err)
	}
	r.events.deliver()
	return nil
}

// put has the object take the place of the one of its name, or join the others, and returns when that is known.
func (r *run) put(resource schema.GroupVersionResource, object apiObject) error {
	err := r.api.put(resource, object)
	r.events.deliver()
	return err
}

// putNode has the node take the place of the node of its name, or join the others.
func (r *run) putNode(node *v1.Node) error {
	corev1.SetObjectDefaults_Node(node)
	return r.put(nodeResource, node)
}

// remove removes an object, which may be gone already, and returns when that is known.
func (r *run) remove(resource schema.GroupVersionResource, namespace, name string) error {
	err := r.api.remove(resource, namespace, name)
	r.events.deliver()
	return err
}

// storePod stores a new pod, and returns when that is known.
func (r *run) storePod(pod *v1.Pod) error {
	corev1.SetObjectDefaults_Pod(pod)
	if pod.UID == "" {
		pod.UID = types.UID(key(pod))
	}
	r.clock.Step(betweenPods)
	if err := r.api.Create(podResource, pod, pod.Namespace); err != nil {
		return fmt.Errorf("pod %s: %w", key(pod), err)
	}
	r.events.deliver()
	r.leaveToItsGroup(pod)
	if pod.Spec.NodeName != "" {
		return r.giveDevices(key(pod))
	}
	r.noteMissingClaims(pod)
	return nil
}

// settle lets the scheduler work until its queue is empty, every event has been handled, and no pod has to be replaced.
func (r *run) settle() error {
	attempts, retried := 0, false
	for {
		r.events.deliver()
		waiting := len(r.queued())
		if waiting == 0 && !retried && r.endBackOff() {
			retried = true
			continue
		}
		if waiting == 0 {
			if more, err := r.replace(); err != nil || !more {
				return err
			}
			continue
		}
		// Only the attempts take pods out of the queue, so there are as many as were counted.
		for ; waiting > 0; waiting -= r.taken + r.passed {
			bound, err := r.attempt()
			if err != nil {
				return err
			}
			attempts += r.taken
			if bound {
				attempts, retried = 0, false
			}
			// The pods that no event has woken are many, and counted only where it comes to that.
			if attempts > attemptsPerPod*(1+waiting) &&
				attempts > attemptsPerPod*(1+len(r.queued())+len(r.scheduler.SchedulingQueue.UnschedulablePods())) {
				if err := r.giveUp(attempts); err != nil {
					return err
				}
				break
			}
			r.events.deliver()
		}
	}
}

// replace replaces the preempted pods, as their controllers would, and reports whether there were any.
func (r *run) replace() (replaced bool, err error) {
	victims := r.api.preempted
	r.api.preempted = nil
	for _, victim := range victims {
		if pod := r.lives.replace(victim, howPreempted); pod != nil {
			replaced = true
			err = errors.Join(err, r.storePod(pod))
		}
	}
	return replaced, err
}

// queued are the pods that the scheduler is going to try. Those that wait out their back-off are not among them: time
// stands still.
func (r *run) queued() []*v1.Pod {
	queue := r.scheduler.SchedulingQueue
	return slices.Concat(queue.PodsInActiveQ(), slices.DeleteFunc(queue.PodsInBackoffQ(), r.waitsOut))
}

// waitsOut says whether a pod in the back-off queue is tried only when its back-off is over, and then again and again,
// whatever has happened: a pod group, and a pod for which there were no nodes at all.
func (r *run) waitsOut(pod *v1.Pod) bool {
	return isInGroup(pod) || r.reasons[key(pod)] == scheduler.ErrNoNodesAvailable.Error()
}

// endBackOff ends it for all that wait it out, and says whether there are any.
func (r *run) endBackOff() bool {
	waiting := map[string]*v1.Pod{}
	for _, pod := range r.scheduler.SchedulingQueue.PodsInBackoffQ() {
		if r.waitsOut(pod) {
			waiting[key(pod)] = pod
		}
	}
	r.scheduler.SchedulingQueue.Activate(klog.Background(), waiting)
	return len(waiting) > 0
}

// isInGroup says whether the scheduler tries the pod together with others.
func isInGroup(pod *v1.Pod) bool {
	return pod.Spec.SchedulingGroup != nil && utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload)
}

// withoutItsGroup is why no member of a pod group is tried by a scheduler that does not know of groups: it would place
// them one by one.
const withoutItsGroup = "it is in a pod group, and the scheduler's feature gate GenericWorkload is off: its group was not tried"

// lacksItsGroup says whether the scheduler would try a pod alone that its cluster's scheduler tries with its group: an API
// server drops the field where the feature is off.
func lacksItsGroup(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.SchedulingGroup != nil && !isInGroup(pod)
}

// leaveToItsGroup keeps the scheduler from trying such a pod.
func (r *run) leaveToItsGroup(pod *v1.Pod) {
	if lacksItsGroup(pod) {
		minor.Delete(r.scheduler.SchedulingQueue, klog.Background(), pod)
		r.reasons[key(pod)] = withoutItsGroup
	}
}

// attempt tries the pod or the pod group at the head of the queue and reports whether a pod was bound. What became of each
// pod is noted by name: the pods of a group are bound at once, in any order.
func (r *run) attempt() (bound bool, err error) {
	r.clock.Step(betweenAttempts)
	r.taken, r.passed = 0, 0
	r.scheduler.ScheduleOne(r.ctx)
	var ended []outcome
	r.attempts += r.taken
	for range r.taken {
		select {
		case one := <-r.outcomes:
			ended = append(ended, one)
		case <-r.ctx.Done():
			return false, context.Cause(r.ctx)
		}
	}
	if r.ctx.Err() != nil {
		return false, context.Cause(r.ctx)
	}
	slices.SortFunc(ended, func(a, b outcome) int { return strings.Compare(key(a.pod), key(b.pod)) })
	for _, one := range ended {
		if one.err == nil {
			r.reasons[key(one.pod)] = one.reason
		}
	}
	for _, one := range ended {
		gotNode, err := r.note(one)
		if err != nil {
			return false, err
		}
		bound = bound || gotNode
	}
	return bound, nil
}

// noteArrival leaves the pod out that the scheduler fails on, and tells the lives of one that was bound.
func (r *run) noteArrival(one outcome) (bound bool, err error) {
	if one.err != nil {
		return false, r.leave(one.pod, fmt.Errorf("the attempt to place %s failed: %w", key(one.pod), one.err))
	}
	if one.pod.Spec.NodeName == "" {
		return false, nil
	}
	r.stuck.clear()
	r.lives.bound(one.pod)
	return true, nil
}

// giveUp leaves out the pods that would be tried without end.
func (r *run) giveUp(attempts int) error {
	err := fmt.Errorf("pending pods were tried %d times without any being bound; some plugin wakes them without end", attempts)
	for _, pod := range r.queued() {
		if err := r.leave(pod, err); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut removes a waiting pod that the scheduler fails on. Only an observed instance can do without.
func (r *run) leaveOut(pod *v1.Pod, err error) error {
	if !r.observed {
		return err
	}
	r.reading.leaveOut("Pod", key(pod), err.Error())
	return r.remove(podResource, pod.Namespace, pod.Name)
}
