package controller

import (
	"strconv"
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	windowsTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "stowage", Subsystem: "packing_policy", StabilityLevel: metrics.ALPHA,
		Name: "windows_total", Help: "Windows of a PackingPolicy that ended, by phase: Closed or Missed."},
		[]string{"policy", "phase"})
	movesTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "stowage", Subsystem: "packing_policy", StabilityLevel: metrics.ALPHA,
		Name: "moves_total", Help: "Pods that were moved in the windows of a PackingPolicy."}, []string{"policy"})
	nodesEmptiedTotal = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "stowage", Subsystem: "packing_policy", StabilityLevel: metrics.ALPHA,
		Name: "nodes_emptied_total", Help: "Nodes that were emptied in the windows of a PackingPolicy."}, []string{"policy"})
	hourlySaving = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: "stowage", Subsystem: "packing_policy", StabilityLevel: metrics.ALPHA,
		Name: "hourly_saving", Help: "What an hour of the nodes costs that were emptied in the last window with any."},
		[]string{"policy"})
)

var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(windowsTotal, movesTotal, nodesEmptiedTotal, hourlySaving)
})

// measureEnded counts a window that ended.
func measureEnded(policy, phase string, moves, nodes int32, saving string) {
	windowsTotal.WithLabelValues(policy, phase).Inc()
	movesTotal.WithLabelValues(policy).Add(float64(moves))
	nodesEmptiedTotal.WithLabelValues(policy).Add(float64(nodes))
	if price, err := strconv.ParseFloat(saving, 64); err == nil {
		hourlySaving.WithLabelValues(policy).Set(price)
	}
}
