package scorecache

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/stowage/stowage/scheduler/internal/metrics"
)

// Reasons why a pod that could use the cache got a full scheduling cycle.
const (
	missUnknown     = "unknown"         // no pod of the key has had a full scheduling cycle yet
	missBudget      = "budget"          // the key has not earned a ranking yet
	missSpread      = "topology-spread" // a hard default constraint of topology spread applies to the pod
	missInfeasible  = "infeasible"      // no node passes the filters
	missRefused     = "refused"         // no candidate passed the filters
	missPodAffinity = "pod-affinity"    // pods elsewhere attract or repel the pod
	missTopologies  = "topologies"      // the pod is spread over too many topologies, or over some that not every node has
	missFailed      = "failed"          // a plugin failed; the full cycle reports it
)

// Causes for which a ranking was made, and the previous one dropped.
const (
	causeFirst      = "first"           // the key had none
	causeConsumed   = "consumed"        // more than tau of it was used up
	causeExhausted  = "exhausted"       // no node was left in it
	causeNodes      = "nodes"           // a node came or went
	causeProperties = "node-properties" // a node's labels, taints, allocatable or cordon changed
	causeAffinity   = "pod-affinity"    // a pod with inter-pod affinity came or went
	causeFrame      = "frame"           // scores could no longer be compared with those of the ranking
	causeFeasible   = "feasible-set"    // the feasible nodes are not those of the ranking, on which its scores depend
	causeSpread     = "topology-spread" // score and spread preferred different nodes
	causeRefused    = "refused"         // candidates were refused one after the other, or one by the framework
	causeFailed     = "failed"          // a plugin failed
)

const subsystem = metrics.Subsystem("score_cache")

var (
	hitsTotal       = subsystem.Counter("hits_total", "Pods that were given a node by a ranking made for an earlier pod.")
	missesTotal     = subsystem.CounterVec("misses_total", "Pods that could use the cache but got a full scheduling cycle, by reason.", "reason")
	bypassesTotal   = subsystem.CounterVec("bypasses_total", "Pods that bypass the cache, by reason.", "reason")
	refreshesTotal  = subsystem.CounterVec("refreshes_total", "Rankings made, by cause. Each gave a node to the pod it was made for.", "cause")
	retiredTotal    = subsystem.CounterVec("retired_total", "Rankings dropped, by cause.", "cause")
	evictionsTotal  = subsystem.Counter("evictions_total", "Keys dropped because there were too many.")
	refusedTotal    = subsystem.Counter("refused_total", "Pods whose cached node the framework refused. Their next cycle covers all nodes.")
	mismatchesTotal = subsystem.Counter("feasible_set_mismatches_total",
		"Refreshes that found other feasible nodes than the ranking had known, although nothing had happened to the nodes.")
	entriesGauge = subsystem.Gauge("entries", "Keys that are kept.")
	pickSeconds  = subsystem.Histogram("pick_seconds", "How long it took to find a node in a ranking.",
		basemetrics.ExponentialBuckets(0.00001, 2, 14))
)

// registerMetrics may be called once for each profile.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(hitsTotal, missesTotal, bypassesTotal, refreshesTotal, retiredTotal, evictionsTotal,
		refusedTotal, mismatchesTotal, entriesGauge, pickSeconds)
})
