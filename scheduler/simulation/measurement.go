package simulation

import (
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sys/unix"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Measurement is what one instance took, by this process's clock.
type Measurement struct {
	// PodsSeconds is the time from the arrival of the first pod until the scheduler has settled after the last. Nodes,
	// and pods that are already placed, are created before that.
	PodsSeconds float64 `json:"podsSeconds"`
	// CPUSeconds is the processor time that the process used in that time. It does not grow on a busy machine.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Arrived is how many pods arrived in that time.
	Arrived int `json:"arrived"`
	// Counters are by how much the counters of Stowage's plugins grew, by name and labels.
	Counters map[string]float64 `json:"counters,omitempty"`
}

// measuring is a measurement that has begun.
type measuring struct {
	began  time.Time
	cpu    time.Duration
	before map[string]float64
}

func measure() measuring {
	before := counters()
	return measuring{began: time.Now(), cpu: cpuTime(), before: before}
}

// usage is what this process used so far; nothing where that cannot be read.
func usage() (used unix.Rusage) {
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	return used
}

// cpuTime is the processor time of this process so far.
func cpuTime() time.Duration {
	used := usage()
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (m measuring) end(arrived int) *Measurement {
	took, cpu := time.Since(m.began), cpuTime()-m.cpu
	after := counters()
	for name, value := range m.before {
		if after[name] -= value; after[name] == 0 {
			delete(after, name)
		}
	}
	return &Measurement{PodsSeconds: took.Seconds(), CPUSeconds: cpu.Seconds(), Arrived: arrived, Counters: after}
}

const countersPrefix = "stowage_"

// counters reads the counters of Stowage's plugins. Metrics that cannot be read are left out: a simulation does not need
// them.
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
