package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Rules say which pods a profile with these valid arguments may disrupt.
func (a *PriorityOptimizerArgs) Rules(schedulerName string) snapshot.Rules {
	return snapshot.Rules{
		SchedulerName:       schedulerName,
		ProtectedNamespaces: sets.New(a.ProtectedNamespaces...),
		MinAge:              Seconds(a.MinPodAgeSeconds),
		MaxGracePeriod:      Seconds(a.MaxGracePeriodSeconds),
		LocalStorage:        a.EvictLocalStorage,
		KeepJobs:            !a.EvictJobs,
		KeepStatefulSets:    !a.EvictStatefulSets,
		KeepSingletons:      !a.EvictSingletons,
		KeepNotReady:        !a.EvictNotReady,
		KeepRollouts:        !a.EvictDuringRollout,
		Namespaces:          selectorOf(a.NamespaceSelector),
	}
}

// RulesFor are the profile's rules and what the plan asks for beside them.
func RulesFor(record *packingplan.Record, rules snapshot.Rules) snapshot.Rules {
	spec := &record.Spec
	if record.Consolidates() && len(spec.SchedulerNames) > 0 {
		rules.Schedulers = sets.New(spec.SchedulerNames...)
	}
	// Nothing waits for such a plan, so that its evictions can.
	rules.InTurn = record.Consolidates()
	rules.Scope = snapshot.Scope{Nodes: selectorOf(spec.NodeSelector), Namespaces: selectorOf(spec.NamespaceSelector)}
	return rules
}

// selectorOf is nil where nothing is selected.
func selectorOf(of *metav1.LabelSelector) labels.Selector {
	if of == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return labels.Nothing() // fail closed
	}
	return selector
}
