package packingpolicy

import (
	"strconv"
	"sync"

	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/stowage/stowage/scheduler/internal/metrics"
)

const subsystem = metrics.Subsystem("packing_policy")

var (
	closedTotal = subsystem.CounterVec("windows_closed_total", "Windows of a PackingPolicy that closed.", "policy")
	missedTotal = subsystem.CounterVec("windows_missed_total",
		"Windows of a PackingPolicy that came and went while no scheduler led.", "policy")
	movesTotal = subsystem.CounterVec("moves_total",
		"Pods moved in the windows of a PackingPolicy that closed.", "policy")
	nodesEmptiedTotal = subsystem.CounterVec("nodes_emptied_total",
		"Nodes emptied in the windows of a PackingPolicy that closed.", "policy")
	hourlySaving = subsystem.GaugeVec("hourly_saving",
		"What an hour of the nodes costs that were emptied in the last closed window with any.", "policy")
)

// RegisterMetrics may be called for each controller.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(closedTotal, missedTotal, movesTotal, nodesEmptiedTotal, hourlySaving)
})

// Show has the metrics of a policy served from the beginning, with what its status knows.
func Show(policy string, status *Status) {
	for _, counter := range []*basemetrics.CounterVec{closedTotal, missedTotal, movesTotal, nodesEmptiedTotal} {
		counter.WithLabelValues(policy).Add(0)
	}
	if saving, err := strconv.ParseFloat(status.HourlySaving, 64); err == nil {
		hourlySaving.WithLabelValues(policy).Set(saving)
	}
}

// Count counts a window of the policy that has ended.
func Count(policy string, ended Window) {
	if ended.Phase == Missed {
		missedTotal.WithLabelValues(policy).Inc()
		return
	}
	closedTotal.WithLabelValues(policy).Inc()
	movesTotal.WithLabelValues(policy).Add(float64(ended.Moves))
	nodesEmptiedTotal.WithLabelValues(policy).Add(float64(ended.NodesEmptied))
}
