package scorecache

import (
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// entry is what is known of one key.
type entry struct {
	budget budget
	// skip are the filter plugins that do not apply to pods of the key; nil until a pod of it has had a full scheduling
	// cycle, and again after the framework has refused a node of the ranking. learnt says when that was: the plugins
	// that apply may change with the pods that have affinity and with the properties of nodes.
	skip   sets.Set[string]
	learnt epochs
	// ranking is nil without one; ended is why the previous one was dropped, or that
	// there was none.
	ranking *ranking
	ended   string
	// barred is why there can be no ranking as long as the epochs are barredUntil.
	barred      string
	barredUntil epochs
}

// Clone returns the same: PreFilter passes the entry to the later extension points of the cycle.
func (e *entry) Clone() fwk.StateData { return e }

const stateKey = fwk.StateKey("stowage.dev/" + Name)

// entryOf is nil in a cycle that bypasses the cache.
func entryOf(state fwk.CycleState) *entry {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	return data.(*entry)
}

// knows says whether it is known which filter plugins to skip.
func (e *entry) knows(now epochs) bool {
	return e.skip != nil && e.learnt.affinity == now.affinity && e.learnt.properties == now.properties
}

// budget keeps a key whose rankings do not last from costing more than it saves. Each pod of the key earns one credit,
// and a ranking is paid for with credits. A ranking that served fewer pods than its price doubles the price of the next
// one, so in the worst case only a small share of the stock scheduler's time is lost.
type budget struct {
	// earned counts the pods since the last ranking was made, served those of them that a ranking gave a node.
	earned, served int
	// factor multiplies the price of the next ranking.
	factor int
}

// maxFactor bounds how slowly a key recovers. The time lost is at most one part in so many.
const maxFactor = 64

// affords says whether a ranking may be made.
func (b *budget) affords(price int) bool { return b.earned >= price*max(b.factor, 1) }

// spend pays for a ranking.
func (b *budget) spend() { b.earned, b.served = 0, 0 }

// settle is called at a ranking's end.
func (b *budget) settle(price int) {
	if b.served > price {
		b.factor = 1
		return
	}
	b.backOff()
}

// backOff doubles the price of the next ranking.
func (b *budget) backOff() { b.factor = min(2*max(b.factor, 1), maxFactor) }
