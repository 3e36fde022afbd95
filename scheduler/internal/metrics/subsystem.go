// Package metrics makes the metrics of Stowage's subsystems.
package metrics

import "k8s.io/component-base/metrics"

// Subsystem is the part of Stowage after which its metrics are named.
type Subsystem string

func (s Subsystem) Counter(name, help string) *metrics.Counter {
	return metrics.NewCounter((*metrics.CounterOpts)(s.options(name, help)))
}

func (s Subsystem) CounterVec(name, help, label string) *metrics.CounterVec {
	return metrics.NewCounterVec((*metrics.CounterOpts)(s.options(name, help)), []string{label})
}

func (s Subsystem) Gauge(name, help string) *metrics.Gauge {
	return metrics.NewGauge((*metrics.GaugeOpts)(s.options(name, help)))
}

func (s Subsystem) GaugeVec(name, help, label string) *metrics.GaugeVec {
	return metrics.NewGaugeVec((*metrics.GaugeOpts)(s.options(name, help)), []string{label})
}

func (s Subsystem) Histogram(name, help string, buckets []float64) *metrics.Histogram {
	of := s.options(name, help)
	return metrics.NewHistogram(&metrics.HistogramOpts{Namespace: of.Namespace, Subsystem: of.Subsystem,
		StabilityLevel: of.StabilityLevel, Name: name, Help: help, Buckets: buckets})
}

func (s Subsystem) options(name, help string) *metrics.KubeOpts {
	return &metrics.KubeOpts{
		Namespace: "stowage", Subsystem: string(s), StabilityLevel: metrics.ALPHA, Name: name, Help: help}
}
