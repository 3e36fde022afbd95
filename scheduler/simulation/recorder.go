package simulation

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// silentRecorder drops the scheduler's events: they cannot be read, and placements contain the same.
type silentRecorder struct{}

var _ events.EventRecorderLogger = silentRecorder{}

func newSilentRecorder(string) events.EventRecorderLogger { return silentRecorder{} }

func (silentRecorder) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {
}

func (r silentRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }
