package fakecluster_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

var (
	runs = flag.Int("runs", usualRuns, "how many clusters are tried")
	seed = flag.Uint64("seed", 1, "the seed of the first one")
	only = flag.Int("size", 0, "their size; 0 is all sizes in turn")
)

const (
	usualRuns = 400
	largest   = 6
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	metrics.Register()
	os.Exit(m.Run())
}

// Evictions, creations, bindings, failures and watch events come in random order, and processes take over. Still no plan is
// aborted for room that it has made itself, none holds room after its end, and none evicts a pod twice, or one that it does
// not name. A run that fails is tried again with smaller clusters of the same seed.
func TestPlansKeepTheirPromisesInAnyOrderOfEvents(t *testing.T) {
	asked, ended := startOptimizer(t), map[string]int{}
	for i := range *runs {
		seed, size := *seed+uint64(i), cmp.Or(*only, 1+i%largest)
		c := try(t.Context(), asked, seed, size)
		for smaller := 1; smaller < size && c.fault != ""; smaller++ {
			if again := try(t.Context(), asked, seed, smaller); again.fault != "" {
				c, size = again, smaller
			}
		}
		if c.fault != "" {
			t.Fatalf("%s\n%s\ngo test ./fakecluster -args -runs=1 -seed=%d -size=%d", c.fault, strings.Join(c.story, "\n"), seed, size)
		}
		for word, count := range c.ended {
			ended[word] += count
		}
	}
	t.Logf("%d runs, in which plans ended: %v", *runs, ended)
	for _, word := range []string{string(packingplan.Completed), forRoom} {
		if ended[word] == 0 && *runs >= usualRuns {
			t.Errorf("no plan ended %s: the test shows less than it says", word)
		}
	}
}

// try is one run.
func try(parent context.Context, asked *optimizer, seed uint64, size int) *cluster {
	ctx, cancel := context.WithCancel(klog.NewContext(parent, logr.Discard()))
	defer cancel()
	c := newCluster(rand.New(rand.NewPCG(seed, uint64(size))), size)
	if seed%2 == 0 {
		c.units = rand.New(rand.NewPCG(seed, uint64(size)))
	}
	asked.cluster = c
	c.tell("%d nodes, %d at once, %+v", len(c.nodes), c.atOnce, c.disturbed)
	for _, pod := range c.sorted(func(*v1.Pod) bool { return true }) {
		c.tell("%s asks for %v on %q, priority %d", pod.Name, needs(pod), pod.Spec.NodeName, *pod.Spec.Priority)
	}
	processes := 1
	if err := c.begin(ctx, asked.socket, processes); err != nil {
		c.fail("%v", err)
		return c
	}
	c.during = func() {
		for c.random.IntN(3) == 0 && !c.quiet {
			c.happen()
		}
	}
	for range 40 + 60*size {
		if c.disturbed.restarts && c.random.IntN(100) == 0 {
			processes++
			c.tell("process %d begins", processes)
			c.process.end()
			if err := c.begin(ctx, asked.socket, processes); err != nil {
				c.fail("%v", err)
			}
		}
		c.happen()
		if c.fault != "" {
			return c
		}
	}
	c.settle()
	return c
}

// happen has one thing happen.
func (c *cluster) happen() {
	p := c.process
	switch c.random.IntN(16) {
	case 0, 1, 2:
		c.pass(time.Duration(c.random.IntN(200)) * time.Millisecond)
	case 3:
		if one := c.informer(); len(one.arriving) > 0 {
			one.receive()
		}
	case 4, 5:
		if one := c.informer(); len(one.handlers) > 0 {
			if to := one.handlers[c.random.IntN(len(one.handlers))]; len(to.waiting) > 0 {
				to.tell()
			}
		}
	case 6, 7, 8:
		if pod := c.some(p.queued); pod != nil {
			p.schedule(pod, c.during)
		}
	case 9, 10:
		if len(p.cycles) > 0 {
			p.proceed(p.cycles[c.random.IntN(len(p.cycles))])
		}
	case 11:
		p.step()
	case 12:
		c.reconcile(c.workloads[c.random.IntN(len(c.workloads))])
	case 13, 14:
		c.kubelet()
	case 15:
		if c.random.IntN(3) == 0 {
			c.disturb()
		}
	}
}

func (c *cluster) informer() *informer {
	return []*informer{c.process.pods, c.process.pods, c.process.plans}[c.random.IntN(3)]
}

func (c *cluster) some(of map[types.UID]*v1.Pod) *v1.Pod {
	uids := slices.Sorted(maps.Keys(of))
	if len(uids) == 0 {
		return nil
	}
	return of[uids[c.random.IntN(len(uids))]]
}

const (
	// longestWatch is how late an informer is at most, and longestHandler how late its handlers: what the plugins take for
	// lasting lasts for longer.
	longestWatch   = 400 * time.Millisecond
	longestHandler = 800 * time.Millisecond
	// longestController is how late a controller is at most.
	longestController = 2 * time.Second
)

// pass lets time pass.
func (c *cluster) pass(by time.Duration) {
	c.clock.Step(by)
	c.process.catchUp(longestWatch, longestHandler)
	for _, one := range c.workloads {
		if c.clock.Since(one.seen) > longestController {
			c.reconcile(one)
		}
	}
	if !c.process.due.After(c.clock.Now()) {
		c.process.step()
	}
}

// kubelet has one pod be ready, or be gone.
func (c *cluster) kubelet() {
	pods := c.sorted(func(pod *v1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Spec.NodeName != "" && pod.Status.Phase == v1.PodPending
	})
	if len(pods) == 0 {
		return
	}
	pod := pods[c.random.IntN(len(pods))]
	if pod.DeletionTimestamp != nil {
		c.tell("%s is gone from %s", pod.Name, pod.Spec.NodeName)
		c.remove(pod)
		return
	}
	c.tell("%s is ready", pod.Name)
	c.put(ready(pod.DeepCopy()))
}

// disturb has something happen that nobody expects.
func (c *cluster) disturb() {
	switch kind := c.random.IntN(3); {
	case kind == 0 && c.disturbed.foreign:
		foreign := c.newPodLike(c.workloads[c.random.IntN(len(c.workloads))].template)
		c.startSomewhere(foreign)
		c.tell("%s of another scheduler comes to %q", foreign.Name, c.pods[foreign.UID].Spec.NodeName)
	case kind == 1 && c.disturbed.deletions:
		if pod := c.some(c.pods); pod.DeletionTimestamp == nil {
			c.tell("%s is deleted from %q by somebody", pod.Name, pod.Spec.NodeName)
			c.delete(pod)
		}
	case kind == 2 && c.disturbed.aborts:
		for _, name := range slices.Sorted(maps.Keys(c.plans)) {
			if read(c.plans[name]).Status.Phase == packingplan.Executing {
				c.tell("%s is to be aborted", name)
				_ = packingplan.NewStore(plansAPI{cluster: c}).Abort(context.Background(), name)
			}
		}
	}
}

// newPodLike makes a pod of another scheduler, of no workload.
func (c *cluster) newPodLike(template *v1.Pod) *v1.Pod {
	template = template.DeepCopy()
	template.Name, template.Spec.SchedulerName, template.OwnerReferences = "foreign", "other", nil
	template.Labels = map[string]string{"app": "foreign"}
	return c.newPod(template)
}

// settle lets everything come to rest without further failures, and checks that nothing is held any more.
func (c *cluster) settle() {
	c.quiet = true
	p := c.process
	for began := c.clock.Now(); c.clock.Since(began) < 10*time.Minute; {
		for range 3 {
			c.kubelet()
			c.reconcile(c.workloads[c.random.IntN(len(c.workloads))])
			if len(p.cycles) > 0 {
				p.proceed(p.cycles[0])
			}
			if pod := c.some(p.queued); pod != nil {
				p.schedule(pod, func() {})
			}
		}
		c.pass(100 * time.Millisecond)
		if c.fault != "" {
			return
		}
		if c.clock.Since(began) > 2*time.Second && c.open() == "" {
			break
		}
	}
	if open := c.open(); open != "" {
		c.fail("after ten minutes %s is open", open)
		return
	}
	for len(p.cycles) > 0 {
		p.proceed(p.cycles[0])
	}
	p.catchUp(0, 0)
	c.checkNothingIsHeld()
}

// open is a plan that has not ended, or "".
func (c *cluster) open() string {
	for name, object := range c.plans {
		if !read(object).Status.Phase.Final() {
			return name
		}
	}
	return ""
}

// checkNothingIsHeld checks that a pod of the lowest priority may take all room that is free.
func (c *cluster) checkNothingIsHeld() {
	if !c.process.ledger.Empty() {
		c.fail("the ledger holds room although no plan is open")
	}
	for _, node := range c.nodes {
		free := c.free(node.Name)
		if free[0] <= 0 && free[1] <= 0 {
			continue
		}
		stranger := c.newStranger(free)
		c.process.catchUp(0, 0)
		if nodes := c.process.mayGoTo(stranger); !slices.Contains(nodes, node.Name) {
			c.fail("a pod that asks for all that is free on %s, %v, may go to %v only", node.Name, free, nodes)
		}
		c.remove(stranger)
	}
}

func (c *cluster) newStranger(asks room) *v1.Pod {
	return c.newPod(testobjects.Pod("stranger", fmt.Sprint(max(0, asks[0]), "m"), fmt.Sprint(max(0, asks[1]))).Priority(0).Obj())
}
