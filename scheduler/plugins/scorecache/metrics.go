package scorecache

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const (
	metricsNamespace = "stowage"
	metricsSubsystem = "score_cache"
)

// Reasons why a pod that could use the cache got a full scheduling cycle.
const (
	// missUnknown: no pod of the key has had a full scheduling cycle yet.
	missUnknown = "unknown"
	// missBudget: the key has not earned a ranking yet.
	missBudget = "budget"
	// missSpread: a hard default constraint of topology spread applies to the pod.
	missSpread = "topology-spread"
	// missInfeasible: no node passes the filters.
	missInfeasible = "infeasible"
	// missRefused: no candidate passed the filters.
	missRefused = "refused"
	// missPodAffinity: pods elsewhere attract or repel the pod.
	missPodAffinity = "pod-affinity"
	// missTopologies: the pod is spread over too many topologies, over some that not every node has, or over others
	// than the arguments say.
	missTopologies = "topologies"
	// missFailed: a plugin failed. The full cycle reports it.
	missFailed = "failed"
)

// Causes for which a ranking was made, and the previous one dropped.
const (
	// causeFirst: the key had none.
	causeFirst = "first"
	// causeConsumed: more than tau of it was used up.
	causeConsumed = "consumed"
	// causeExhausted: no node was left in it.
	causeExhausted = "exhausted"
	// causeNodes: a node came or went.
	causeNodes = "nodes"
	// causeProperties: a node's labels, taints, allocatable or cordon changed.
	causeProperties = "node-properties"
	// causeAffinity: a pod with inter-pod affinity came or went.
	causeAffinity = "pod-affinity"
	// causeFrame: scores could no longer be compared with those of the ranking.
	causeFrame = "frame"
	// causeFeasible: the feasible nodes are not those of the ranking, whose scores depend on them as a set.
	causeFeasible = "feasible-set"
	// causeSpread: score and spread preferred different nodes.
	causeSpread = "topology-spread"
	// causeRefused: candidates were refused one after the other, or one by the framework.
	causeRefused = "refused"
	// causeLag: too many nodes had changed since it was last used.
	causeLag = "lag"
)

var (
	hitsTotal       = counter("hits_total", "Pods that were given a node by a ranking made for an earlier pod.")
	missesTotal     = counterVec("misses_total", "Pods that could use the cache but got a full scheduling cycle, by reason.", "reason")
	bypassesTotal   = counterVec("bypasses_total", "Pods that bypass the cache, by reason.", "reason")
	refreshesTotal  = counterVec("refreshes_total", "Rankings made, by cause. Each gave a node to the pod it was made for.", "cause")
	retiredTotal    = counterVec("retired_total", "Rankings dropped, by cause.", "cause")
	evictionsTotal  = counter("evictions_total", "Keys dropped because there were too many.")
	refusedTotal    = counter("refused_total", "Pods whose cached node the framework refused. Their next cycle covers all nodes.")
	mismatchesTotal = counter("feasible_set_mismatches_total",
		"Refreshes that found other feasible nodes than the ranking had known, although nothing had happened to the nodes.")
	entriesGauge = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, StabilityLevel: metrics.ALPHA,
		Name: "entries", Help: "Keys that are kept."})
	pickSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, StabilityLevel: metrics.ALPHA,
		Name: "pick_seconds", Help: "How long it took to find a node in a ranking.",
		Buckets: metrics.ExponentialBuckets(0.00001, 2, 14)})
)

func counter(name, help string) *metrics.Counter {
	return metrics.NewCounter(&metrics.CounterOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, StabilityLevel: metrics.ALPHA,
		Name: name, Help: help})
}

func counterVec(name, help, label string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, StabilityLevel: metrics.ALPHA,
		Name: name, Help: help}, []string{label})
}

// registerMetrics may be called once for each profile.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(hitsTotal, missesTotal, bypassesTotal, refreshesTotal, retiredTotal, evictionsTotal,
		refusedTotal, mismatchesTotal, entriesGauge, pickSeconds)
})
