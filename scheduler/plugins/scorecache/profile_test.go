package scorecache

import (
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// TestAnUnavailableReasonSaysWhatToDo: the plugin is off, and only one log line says why.
func TestAnUnavailableReasonSaysWhatToDo(t *testing.T) {
	set := func(plugins ...string) (made config.PluginSet) {
		for _, name := range plugins {
			made.Enabled = append(made.Enabled, config.Plugin{Name: name})
		}
		return made
	}
	for _, row := range []struct {
		preFilter, postFilter config.PluginSet
		want                  string
	}{
		{set("NodePorts", Name), set(Name, "DefaultPreemption"), ""},
		{set("NodePorts", Name), set(Name), ""},
		{set("Unknown", Name), set(Name), "trustedPlugins"},
		{set(Name, "NodePorts"), set(Name), "last plugin at preFilter"},
		{set("NodePorts", Name), set("DefaultPreemption", Name), "first plugin at postFilter"},
		{set("NodePorts", Name), set("DefaultPreemption"), "first plugin at postFilter"},
		{set("NodePorts", Name), set(), "first plugin at postFilter"},
	} {
		reason := unavailableReason(&config.Plugins{PreFilter: row.preFilter, PostFilter: row.postFilter}, nil)
		if (reason == "") != (row.want == "") || !strings.Contains(reason, row.want) {
			t.Errorf("%v, %v: the reason should contain %q: %q", row.preFilter, row.postFilter, row.want, reason)
		}
	}
}
