package fakecluster_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// cluster is what an API server has, with the controllers and kubelets that work on it.
type cluster struct {
	random *rand.Rand
	clock  *testingclock.FakeClock
	// client is the scheduler's, evictions that for evictions: a fake client answers one request at a time.
	client, evictions *fake.Clientset
	disturbed         disturbances
	atOnce            int
	version           int
	made              int
	nodes             []*v1.Node
	workloads         []*workload
	pods              map[types.UID]*v1.Pod
	plans             map[string]*unstructured.Unstructured
	// evicted are the pods whose eviction was answered with success.
	evicted map[types.UID]bool
	// units decides which workloads are units in plans; nil: none are.
	units *rand.Rand
	// quiet: nothing fails any more, and the optimiser makes no more plans.
	quiet bool
	// during happens while an eviction or a solve is asked for, and in the midst of a scheduling cycle.
	during  func()
	process *process
	// fault is the first promise that was broken, and story what has happened.
	fault string
	story []string
	// ended counts the plans that were carried out, by how they ended.
	ended map[string]int
}

// disturbances are what may happen in a run beside delays, refusals and failures, which always may.
type disturbances struct {
	// foreign: another scheduler binds pods, whose room may be that of a plan.
	foreign bool
	// deletions: somebody deletes pods. duplicates: a controller makes a pod too many. aborts: a user aborts plans.
	deletions, duplicates, aborts bool
	// restarts: the scheduler's process ends, and another takes over.
	restarts bool
}

// workload is a ReplicaSet.
type workload struct {
	template *v1.Pod
	replicas int
	// seen is when its controller looked at it last.
	seen time.Time
}

func newCluster(random *rand.Rand, size int) *cluster {
	c := &cluster{random: random, clock: testingclock.NewFakeClock(time.Unix(1e9, 0)), client: &fake.Clientset{}, evictions: &fake.Clientset{},
		pods: map[types.UID]*v1.Pod{}, plans: map[string]*unstructured.Unstructured{},
		evicted: map[types.UID]bool{}, ended: map[string]int{}}
	c.client.AddReactor("*", "pods", c.answer)
	c.evictions.AddReactor("*", "pods", c.answer)
	c.atOnce = random.IntN(3)
	sometimes := func(n int) bool { return random.IntN(n) == 0 }
	c.disturbed = disturbances{sometimes(5), sometimes(4), sometimes(4), sometimes(5), sometimes(3)}
	for i := range 2 + random.IntN(min(5, size)) {
		node := testobjects.Node(fmt.Sprintf("n%d", i), "1", "1000").Obj()
		node.ResourceVersion = c.nextVersion()
		c.nodes = append(c.nodes, node)
	}
	for pods := min(15, 2*len(c.nodes)+random.IntN(2*len(c.nodes))); pods > 0; {
		one := &workload{template: testobjects.Pod(fmt.Sprintf("rs%d", len(c.workloads)), fmt.Sprint(50*(1+random.IntN(12)), "m"),
			fmt.Sprint(50*(1+random.IntN(12)))).Priority(int32(random.IntN(3))).Obj(), replicas: 1 + random.IntN(min(pods, 4)), seen: c.clock.Now()}
		pods -= one.replicas
		c.workloads = append(c.workloads, one)
	}
	for _, one := range c.workloads {
		for range one.replicas {
			if pod := c.newPod(one.template); !sometimes(6) {
				c.startSomewhere(pod)
			}
		}
	}
	return c
}

// startSomewhere has a pod run on a node that has room, if there is one.
func (c *cluster) startSomewhere(pod *v1.Pod) {
	for _, i := range c.random.Perm(len(c.nodes)) {
		if node := c.nodes[i].Name; fits(pod, c.free(node)) {
			running := pod.DeepCopy()
			running.Spec.NodeName = node
			c.put(ready(running))
			return
		}
	}
}

func (c *cluster) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf("%6.2f ", c.clock.Since(time.Unix(1e9, 0)).Seconds())+fmt.Sprintf(format, args...))
}

// fail notes the first broken promise. It may be called from any goroutine of a request, of which there is one at a time.
func (c *cluster) fail(format string, args ...any) {
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...)
		c.tell("FAULT %s", c.fault)
	}
}

func (c *cluster) nextVersion() string {
	c.version++
	return strconv.Itoa(c.version)
}

// put stores a version of a pod, which must not be changed afterwards.
func (c *cluster) put(pod *v1.Pod) {
	pod.ResourceVersion = c.nextVersion()
	c.pods[pod.UID] = pod
	if c.process != nil {
		c.process.pods.arriving = append(c.process.pods.arriving, change{at: c.clock.Now(), now: pod})
	}
}

// remove removes a pod at once.
func (c *cluster) remove(pod *v1.Pod) {
	delete(c.pods, pod.UID)
	if c.process != nil {
		c.process.pods.arriving = append(c.process.pods.arriving, change{at: c.clock.Now(), before: pod})
	}
}

func (c *cluster) newPod(template *v1.Pod) *v1.Pod {
	c.made++
	pod := template.DeepCopy()
	pod.Name = fmt.Sprintf("%s-%d", template.Name, c.made)
	pod.UID, pod.CreationTimestamp = types.UID(pod.Name), metav1.NewTime(c.clock.Now())
	c.put(pod)
	return pod
}

// ready is the pod once it is ready.
func ready(pod *v1.Pod) *v1.Pod {
	pod.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &pod.CreationTimestamp,
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	return pod
}

// delete does what a DELETE request does, and the Eviction API if it lets a pod go.
func (c *cluster) delete(pod *v1.Pod) {
	switch {
	case pod.Spec.NodeName == "":
		c.remove(pod)
	case pod.DeletionTimestamp == nil:
		now := metav1.NewTime(c.clock.Now())
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = &now
		c.put(pod)
	}
}

// sorted are the pods that the condition selects, by name.
func (c *cluster) sorted(which func(*v1.Pod) bool) (pods []*v1.Pod) {
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		if which(c.pods[uid]) {
			pods = append(pods, c.pods[uid])
		}
	}
	return pods
}

// room is CPU in thousandths, and memory.
type room [2]int64

func needs(pod *v1.Pod) room {
	requests := pod.Spec.Containers[0].Resources.Requests
	return room{requests.Cpu().MilliValue(), requests.Memory().Value()}
}

func fits(pod *v1.Pod, free room) bool {
	asks := needs(pod)
	return asks[0] <= free[0] && asks[1] <= free[1]
}

// free is what the pods on a node leave, terminating ones and those being bound there counted.
func (c *cluster) free(node string) room {
	left := room{1000, 1000}
	take := func(pod *v1.Pod) {
		asks := needs(pod)
		left[0] -= asks[0]
		left[1] -= asks[1]
	}
	for _, pod := range c.pods {
		if pod.Spec.NodeName == node {
			take(pod)
		}
	}
	if c.process != nil {
		for uid, pod := range c.process.assumed {
			if live := c.pods[uid]; pod.Spec.NodeName == node && live != nil && live.Spec.NodeName == "" {
				take(pod)
			}
		}
	}
	return left
}

// answer answers the scheduler's requests about pods.
func (c *cluster) answer(action clienttesting.Action) (bool, runtime.Object, error) {
	switch request := action.(type) {
	case clienttesting.GetAction:
		for _, pod := range c.pods {
			if pod.Name == request.GetName() {
				return true, pod, nil
			}
		}
		return true, nil, apierrors.NewNotFound(v1.Resource("pods"), request.GetName())
	case clienttesting.CreateAction:
		switch object := request.GetObject().(type) {
		case *v1.Binding:
			return true, object, c.sometimesUnanswered(func() error { return c.bind(object) })
		case *policyv1.Eviction:
			c.during()
			return true, object, c.sometimesUnanswered(func() error { return c.evict(object) })
		}
	}
	return true, nil, fmt.Errorf("an unexpected request: %v", action)
}

// sometimesUnanswered has a request fail before or after it is carried out.
func (c *cluster) sometimesUnanswered(carryOut func() error) error {
	lost := apierrors.NewServerTimeout(v1.Resource("pods"), "create", 1)
	if c.quiet {
		return carryOut()
	}
	switch c.random.IntN(24) {
	case 0:
		c.tell("a request is lost")
		return lost
	case 1:
		if err := carryOut(); err != nil {
			return err
		}
		c.tell("its answer is lost")
		return lost
	}
	return carryOut()
}

func (c *cluster) bind(binding *v1.Binding) error {
	pod := c.pods[binding.UID]
	switch {
	case pod == nil:
		return apierrors.NewNotFound(v1.Resource("pods"), binding.Name)
	case pod.Spec.NodeName != "":
		return apierrors.NewConflict(v1.Resource("pods"), binding.Name, fmt.Errorf("it has a node"))
	case !c.quiet && c.random.IntN(8) == 0:
		return apierrors.NewForbidden(v1.Resource("pods"), binding.Name, fmt.Errorf("not now"))
	}
	c.tell("%s is bound to %s", pod.Name, binding.Target.Name)
	bound := pod.DeepCopy()
	bound.Spec.NodeName = binding.Target.Name
	bound.Annotations = binding.Annotations
	c.put(bound)
	if left := c.free(binding.Target.Name); (left[0] < 0 || left[1] < 0) && !c.disturbed.foreign {
		c.fail("%s was bound to %s, which lacks the room: %v", pod.Name, binding.Target.Name, left)
	}
	return nil
}

func (c *cluster) evict(eviction *policyv1.Eviction) error {
	pod := c.pods[*eviction.DeleteOptions.Preconditions.UID]
	switch {
	case pod == nil:
		return apierrors.NewNotFound(v1.Resource("pods"), eviction.Name)
	case !c.quiet && c.random.IntN(5) == 0:
		return apierrors.NewTooManyRequests("a disruption budget says no", 1)
	}
	c.tell("%s is evicted from %s", pod.Name, pod.Spec.NodeName)
	if c.evicted[pod.UID] {
		c.fail("%s is evicted twice", pod.Name)
	}
	if c.stepOf(pod) == "" {
		c.fail("%s is evicted from %s, which no plan that is being carried out says", pod.Name, pod.Spec.NodeName)
	}
	c.evicted[pod.UID] = true
	c.delete(pod)
	return nil
}

// stepOf is the plan under way that takes the pod off its node, or "".
func (c *cluster) stepOf(pod *v1.Pod) string {
	for name, object := range c.plans {
		record, err := packingplan.Read(object)
		if err != nil || record.Status.Phase != packingplan.Executing {
			continue
		}
		for _, step := range record.Status.Steps {
			if step.PodUID == string(pod.UID) && step.From == pod.Spec.NodeName && step.State != packingplan.NotNeeded {
				return name
			}
		}
	}
	return ""
}

// reconcile has a ReplicaSet's controller create or delete pods.
func (c *cluster) reconcile(one *workload) {
	one.seen = c.clock.Now()
	own := c.sorted(func(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil && pod.Labels["app"] == one.template.Name })
	switch missing := one.replicas - len(own); {
	case missing > 0:
		if c.disturbed.duplicates && !c.quiet && c.random.IntN(3) == 0 {
			missing++ // it has not seen yet what it created itself
		}
		for range missing {
			c.tell("%s is created", c.newPod(one.template).Name)
		}
	case missing < 0:
		// As the controller ranks them: first those without a node, then those that are not ready.
		slices.SortStableFunc(own, func(a, b *v1.Pod) int { return rank(a) - rank(b) })
		c.tell("%s is deleted, since it is one too many", own[0].Name)
		c.delete(own[0])
	}
}

func rank(pod *v1.Pod) int {
	switch {
	case pod.Spec.NodeName == "":
		return 0
	case pod.Status.Phase != v1.PodRunning:
		return 1
	}
	return 2
}
