package priorityoptimizer

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

// The first snapshot of a large cluster takes several times as long as the next: pods need not be held for it. One that
// is read while the burst still comes is enough.
func TestClusterIsReadOnceWhileABurstSettles(t *testing.T) {
	clock, reads := testingclock.NewFakeClock(time.Now()), 0
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	core := factory.Core().V1()
	l := &loop{
		Plugin: &Plugin{
			trigger: newTrigger(clock, pace{mode: ModeOnUnschedulable, settle: time.Second}),
			view: &view{
				nodes: core.Nodes().Lister(), pods: core.Pods().Lister(), namespaces: core.Namespaces().Lister(),
				budgets: factory.Policy().V1().PodDisruptionBudgets().Lister(),
				volumes: volumes{nodes: factory.Storage().V1().CSINodes().Lister()},
				now:     clock.Now, inFlight: newInFlight(), ownerLabels: func() sets.Set[string] { return nil },
				held: func() map[string]resources.Vector { reads++; return nil },
			},
		},
		clock: clock, leadingSince: clock.Now(), records: newRecords(),
		informer: packingplan.NewInformer(dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())),
	}
	l.leads.Store(true)

	l.startDue(t.Context())
	idle := reads
	l.trigger.mark("a", "", clock.Now())
	l.startDue(t.Context())
	first := reads
	clock.Step(500 * time.Millisecond)
	l.trigger.mark("b", "", clock.Now())
	l.startDue(t.Context())

	if idle != 0 || first != 1 || reads != 1 {
		t.Errorf("read %d times while no pods waited, %d at the first pod, %d at the second", idle, first, reads)
	}
}
