package simulation

import (
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Measurement is what one instance took, by this process's clock.
type Measurement struct {
	// PodsSeconds is the time from the arrival of the first pod until the scheduler came to rest after the last.
	// Nodes, and pods that are placed already, are there before it begins.
	PodsSeconds float64 `json:"podsSeconds"`
	// Arrived is how many pods arrived in that time.
	Arrived int `json:"arrived"`
	// Counters are by how much the counters of Stowage's plugins grew, by name and labels.
	Counters map[string]float64 `json:"counters,omitempty"`
}

// measuring is a measurement that has begun.
type measuring struct {
	began  time.Time
	before map[string]float64
}

func measure() measuring { return measuring{began: time.Now(), before: counters()} }

func (m measuring) end(arrived int) *Measurement {
	took := time.Since(m.began)
	after := counters()
	for name, value := range m.before {
		if after[name] -= value; after[name] == 0 {
			delete(after, name)
		}
	}
	return &Measurement{PodsSeconds: took.Seconds(), Arrived: arrived, Counters: after}
}

const countersPrefix = "stowage_"

// counters reads the counters of Stowage's plugins. Metrics that cannot be read are left out: they are beside the
// point of a simulation.
func counters() map[string]float64 {
	values := map[string]float64{}
	families, _ := legacyregistry.DefaultGatherer.Gather()
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), countersPrefix) || family.GetType() != dto.MetricType_COUNTER {
			continue
		}
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), countersPrefix)
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue()
		}
	}
	return values
}
