package config

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
)

func rawArgs(text string) runtime.Object {
	return &runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeJSON}
}

// A profile that only names the plugin must work: every field has a default. Zero is a value of its own.
func TestArgsMayBeLeftOut(t *testing.T) {
	if args, err := Decode(rawArgs(`{"settleSeconds": 0}`)); err != nil || args.SettleSeconds != 0 || Default().SettleSeconds == 0 {
		t.Errorf("settleSeconds %+v, %v; want the 0 that was given", args, err)
	}
	for name, object := range map[string]runtime.Object{"no pluginConfig": nil, "empty args": rawArgs("{}")} {
		args, err := Decode(object)

		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if args.Trigger != gate.OnUnschedulable || args.TimeLimitSeconds != 1 || args.HistoryLimit != 20 {
			t.Errorf("%s: unexpected defaults %+v", name, args)
		}
	}
}

// A user who edits a profile should need one restart to see all errors, not one for each.
func TestArgsValidationReportsAllFaultsAtOnce(t *testing.T) {
	_, err := Decode(rawArgs(`{
		"apiVersion": "stowage.dev/v9", "kind": "Other", "socket": "relative.sock", "trigger": "Sometimes",
		"policy": "Lax", "maximize": "Nodes", "strategy": "Pa per", "settleSeconds": -1, "intervalSeconds": 0,
		"batchPods": 0, "batchSeconds": 0,
		"timeLimitSeconds": 0, "planTimeoutSeconds": 0, "workers": -2, "seed": -1, "historyLimit": 0,
		"maxGracePeriodSeconds": -1,
		"protectedNamespaces": ["Bad_Name"], "groupKinds": [{"labels": ["not a key"], "sizeAnnotation": "/"}], "timeLimit": 4, "seed": 2}`))

	if err == nil {
		t.Fatal("want an error")
	}
	for _, field := range []string{"apiVersion", "kind", "socket", "trigger", "policy", "maximize", "strategy",
		"settleSeconds", "intervalSeconds", "batchPods", "batchSeconds", "timeLimitSeconds", "planTimeoutSeconds", "workers",
		"historyLimit", "maxGracePeriodSeconds", "protectedNamespaces[0]", "groupKinds[0].name",
		"groupKinds[0].labels[0]", "groupKinds[0].sizeAnnotation", "timeLimit:", "seed"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("no error about %s in: %v", field, err)
		}
	}
}

// A misspelt field must not be taken for a default.
func TestArgsAreDecodedStrictly(t *testing.T) {
	for name, text := range map[string]string{
		"unknown field": `{"settleSecond": 2}`,
		"wrong case":    `{"SettleSeconds": 2}`,
		"doubled field": `{"workers": 1, "workers": 2}`,
		"wrong type":    `{"workers": "two"}`,
		"not an object": `[1]`,
	} {
		if _, err := Decode(rawArgs(text)); err == nil {
			t.Errorf("%s: want an error for %s", name, text)
		}
	}
}

// A user may ask for one plan otherwise than the release is set; a plan that empties nodes places no pods.
func TestAPlanMaximizesWhatItSaysOrElseWhatTheReleaseIsSetTo(t *testing.T) {
	for _, c := range []struct {
		set, said packingplan.Maximized
		objective packingplan.Objective
		devices   bool
	}{
		{packingplan.Pods, "", packingplan.Place, false}, {packingplan.Devices, "", packingplan.Place, true},
		{packingplan.Pods, packingplan.Devices, packingplan.Place, true}, {packingplan.Devices, packingplan.Pods, packingplan.Place, false},
		{packingplan.Devices, "", packingplan.Consolidate, false},
	} {
		args, record := Default(), &packingplan.Record{}
		args.Maximize, record.Spec.Maximize, record.Spec.Objective = c.set, c.said, c.objective

		if got := RulesFor(record, args.Rules("ours")).CountsDevices; got != c.devices {
			t.Errorf("%+v: devices are counted: %t", c, got)
		}
	}
}
