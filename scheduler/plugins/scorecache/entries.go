package scorecache

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// entry is what is known of one key.
type entry struct {
	budget budget
	// skip are the filter plugins that do not apply to pods of the key; nil until a pod of it has had a full scheduling
	// cycle, and again after the framework has refused a node of the ranking. learnt says when that was: the plugins
	// that apply may change with the pods that have affinity and with the properties of nodes.
	skip   sets.Set[string]
	learnt epochs
	// ranking is nil without one; last describes the previous one.
	ranking *ranking
	last    past
	// barred is why there can be no ranking as long as the epochs are barredUntil.
	barred      string
	barredUntil epochs
}

// knows says whether it is known which filter plugins to skip.
func (e *entry) knows(now epochs) bool {
	return e.skip != nil && e.learnt.affinity == now.affinity && e.learnt.properties == now.properties
}

// forget gives the next pod of the key a full scheduling cycle, which finds the plugins to skip again.
func (e *entry) forget() { e.skip = nil }

// past describes a ranking that was dropped.
type past struct {
	cause      string
	feasible   fingerprint
	nextChange int
}

// upToDate says whether no node has changed between its end and the making of the next ranking.
func (p past) upToDate(next *ranking) bool {
	return p.cause == causeConsumed && p.nextChange == next.nextChange
}

func (p past) causeOfNext() string {
	if p.cause == "" {
		return causeFirst
	}
	return p.cause
}

// entries are the paper's cache, which drops the least recently used key first.
type entries struct{ kept *lru.Cache }

func newEntries(limit int) entries {
	return entries{lru.NewWithEvictionFunc(limit, func(lru.Key, any) { evictionsTotal.Inc() })}
}

// of is the entry of a key, made if there is none.
func (e entries) of(key podkey.Key) *entry {
	if found, kept := e.kept.Get(key); kept {
		return found.(*entry)
	}
	made := &entry{}
	e.kept.Add(key, made)
	entriesGauge.Set(float64(e.kept.Len()))
	return made
}

// budget keeps a key whose rankings do not last from costing more than it saves. Each pod of the key earns one credit,
// and a ranking is paid for with credits. A ranking that served fewer pods than its price doubles the price of the next
// one, so in the worst case only a small share of the stock scheduler's time is lost.
type budget struct {
	earned int
	served int
	// factor multiplies the price of the next ranking.
	factor int
}

// maxFactor bounds how slowly a key recovers. The time lost is at most one part in so many.
const maxFactor = 64

// earn counts a pod.
func (b *budget) earn() { b.earned++ }

// serve counts a pod that was given a node by a ranking.
func (b *budget) serve() {
	b.earned++
	b.served++
}

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
