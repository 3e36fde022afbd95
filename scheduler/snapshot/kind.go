package snapshot

import "k8s.io/apimachinery/pkg/types"

// Kind names the pods that can stand in for one another: those of one owner and one class.
type Kind struct {
	Owner types.UID
	Class string
}

// Kind is that of the pod. Nobody stands in for a pod without a controller: it is its own owner.
func (p *Pod) Kind() Kind {
	if p.Owner == "" {
		return Kind{p.Object.UID, p.Class}
	}
	return Kind{p.Owner, p.Class}
}
