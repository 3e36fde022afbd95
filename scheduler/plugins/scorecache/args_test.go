package scorecache

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func unknown(text string) runtime.Object { return &runtime.Unknown{Raw: []byte(text)} }

// TestArgumentsHaveTheDefaultsOfThePaper: tau is 0.5 there.
func TestArgumentsHaveTheDefaultsOfThePaper(t *testing.T) {
	for _, object := range []runtime.Object{nil, unknown("{}")} {
		args, err := DecodeArgs(object)
		if err != nil {
			t.Fatal(err)
		}
		if *args.RefreshThreshold != 0.5 || *args.MaxEntries != DefaultMaxEntries ||
			(*args.DefaultSpreadTopologyKeys)[0] != "topology.kubernetes.io/zone" {
			t.Errorf("unexpected defaults: %+v", args)
		}
	}
}

// TestErrorsOfArgumentsAreReportedTogether: who repairs a configuration wants to do it once.
func TestErrorsOfArgumentsAreReportedTogether(t *testing.T) {
	_, err := DecodeArgs(unknown(`{"kind":"ScoreCacheArgs","refreshThreshold":0,"maxEntries":0,"colour":"red",` +
		`"defaultSpreadTopologyKeys":["a b"],"trustedPlugins":[""]}`))
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{
		"ScoreCache", "refreshThreshold", "maxEntries", "colour", "defaultSpreadTopologyKeys[0]", "trustedPlugins[0]",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error should name %s: %v", want, err)
		}
	}
}

// TestLimitsOfArgumentsAreIncluded: tau of 1 uses a ranking up, more than that has no meaning.
func TestLimitsOfArgumentsAreIncluded(t *testing.T) {
	for text, valid := range map[string]bool{
		`{"refreshThreshold":1}`: true, `{"refreshThreshold":1.01}`: false, `{"refreshThreshold":-0.1}`: false,
		`{"maxEntries":1}`: true, `{"maxEntries":10000}`: true, `{"maxEntries":10001}`: false,
		`{"defaultSpreadTopologyKeys":[]}`: true, `{"kind":"OtherArgs"}`: false,
	} {
		if _, err := DecodeArgs(unknown(text)); (err == nil) != valid {
			t.Errorf("%s: valid should be %t, got %v", text, valid, err)
		}
	}
}
