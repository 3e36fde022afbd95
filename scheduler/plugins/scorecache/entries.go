package scorecache

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// entry is what is known of one key.
type entry struct {
	budget budget
	// skip are the filter plugins that have nothing to say about pods of the key; nil as long as no pod of it
	// went the full way, or none since the framework refused a node of the ranking. learnt says when that was:
	// what plugins have to say may change with the pods that have affinity, and with what nodes are like.
	skip   sets.Set[string]
	learnt epochs
	// ranking is nil without one; last is what is remembered of the one before.
	ranking *ranking
	last    past
	// barred is why there can be none, as long as the epochs are these.
	barred      string
	barredUntil epochs
}

// knows says whether it is known which filter plugins to skip.
func (e *entry) knows(now epochs) bool {
	return e.skip != nil && e.learnt.affinity == now.affinity && e.learnt.properties == now.properties
}

// forget makes the next pod of the key go the full way, and learn anew.
func (e *entry) forget() { e.skip = nil }

// past is a ranking that was given up.
type past struct {
	cause      string
	feasible   fingerprint
	nextChange int
}

// upToDate says whether nothing has happened to any node between its end and the making of the next.
func (p past) upToDate(next *ranking) bool {
	return p.cause == causeConsumed && p.nextChange == next.nextChange
}

func (p past) causeOfNext() string {
	if p.cause == "" {
		return causeFirst
	}
	return p.cause
}

// entries are the paper's cache, with the key that was asked for least recently as the next to go.
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

// served remembers which pods were given a cached node of late. One that comes again was not bound to it.
type servedPods struct{ pods *lru.Cache }

// servedLimit is more than the pods that are between their cycle and their binding, and those that wait after one.
const servedLimit = 10_000

func newServedPods() servedPods { return servedPods{lru.New(servedLimit)} }

func (g servedPods) add(uid types.UID) { g.pods.Add(uid, nil) }

func (g servedPods) has(uid types.UID) bool {
	_, found := g.pods.Get(uid)
	return found
}
