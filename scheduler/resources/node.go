package resources

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// FreeOn is the room on a node as the scheduler sees it, pods whose binding is under way
// counted.
func FreeOn(node fwk.NodeInfo) Vector {
	allocatable, requested := ofFramework(node.GetAllocatable()), ofFramework(node.GetRequested())
	allocatable.pods = int64(node.GetAllocatable().GetAllowedPodNumber())
	requested.pods = int64(len(node.GetPods()))
	return allocatable.Minus(requested)
}

func ofFramework(amount fwk.Resource) Vector {
	vector := Vector{
		cpuMilli:              amount.GetMilliCPU(),
		memoryBytes:           amount.GetMemory(),
		ephemeralStorageBytes: amount.GetEphemeralStorage(),
	}
	if scalars := amount.GetScalarResources(); len(scalars) > 0 {
		vector.extended = make(map[string]int64, len(scalars))
	}
	for name, value := range amount.GetScalarResources() {
		vector.extended[string(name)] = value
	}
	return vector
}
