package minor

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Group is what the scheduler knows of a pod group.
type Group struct {
	// Gang: at least MinCount of its pods have a node, or none has.
	Gang     bool
	MinCount int32
	// LeavesWhole: all its running pods are disrupted together or none is.
	LeavesWhole bool
	// TopologyKey is the label of nodes of which the nodes of all its pods have one value; empty if they may be anywhere.
	TopologyKey string
	// Priority is that which its pods must have.
	Priority int32
	// PreemptionPolicy is that which its pods must have; empty: any, but all have the same.
	PreemptionPolicy v1.PreemptionPolicy
	// Parent is the name of the composite group that it is part of, or empty.
	Parent string
	// HasClaims: its pods share resource claims of the group.
	HasClaims bool
}

// GroupPostFilter is what a plugin embeds to be asked after a failed cycle of a pod group, by minors that ask plugins then.
type GroupPostFilter struct {
	// Failed is told which pods of the group have no node. Only Unschedulable lets the plugins after this one run.
	Failed func(state fwk.PodGroupCycleState, pods []*v1.Pod) *fwk.Status
}
