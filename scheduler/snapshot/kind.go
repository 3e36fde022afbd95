package snapshot

import "k8s.io/apimachinery/pkg/types"

// Kind identifies pods that can replace each other: those of one owner and one class.
type Kind struct {
	Owner types.UID
	Class string
}

// Kind is that of the pod. No other pod can replace one without a controller: it is its own owner.
func (p *Pod) Kind() Kind {
	if p.Owner == "" {
		return Kind{p.Object.UID, p.Class}
	}
	return Kind{p.Owner, p.Class}
}
