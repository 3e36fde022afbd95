package packingpolicy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

func read(t *testing.T, windows ...packingpolicy.Opening) packingpolicy.Schedule {
	t.Helper()
	return testobjects.Value(packingpolicy.ReadSchedule(windows))(t)
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	return testobjects.Value(time.Parse(time.RFC3339, text))(t)
}

// A night window is at night where the cluster's users are, in summer and in winter.
func TestWindowsFollowTheClocksOfTheirTimeZone(t *testing.T) {
	schedule := read(t, packingpolicy.Opening{Schedule: "0 2 * * *", TimeZone: "Europe/Berlin", DurationSeconds: 3600})

	winter, _ := schedule.Next(at(t, "2026-01-10T00:00:00Z"))
	summer, _ := schedule.Next(at(t, "2026-07-10T00:00:00Z"))

	if !winter.Start.Equal(at(t, "2026-01-10T01:00:00Z")) || !summer.Start.Equal(at(t, "2026-07-10T00:00:00Z").Add(24*time.Hour)) {
		t.Errorf("winter %v, summer %v", winter.Start.UTC(), summer.Start.UTC())
	}
}

// A process that comes up in the middle of a window has to know it, however long it is and however often windows begin.
func TestOpenWindowIsFoundFromAnyMomentOfIt(t *testing.T) {
	daily := packingpolicy.Opening{Schedule: "0 2 * * *", DurationSeconds: 3600}
	for name, test := range map[string]struct {
		opening packingpolicy.Opening
		now     string
		want    string
	}{
		"at its first moment":  {daily, "2026-01-10T02:00:00Z", "2026-01-10T02:00:00Z"},
		"at its last":          {daily, "2026-01-10T02:59:59Z", "2026-01-10T02:00:00Z"},
		"not at its end":       {daily, "2026-01-10T03:00:00Z", ""},
		"not before it begins": {daily, "2026-01-10T01:59:59Z", ""},
		"for six days": {packingpolicy.Opening{Schedule: "0 0 * * 0", DurationSeconds: 6 * 24 * 3600},
			"2026-01-09T12:00:00Z", "2026-01-04T00:00:00Z"},
		"of many that overlap, the last": {packingpolicy.Opening{Schedule: "* * * * *", DurationSeconds: 7 * 24 * 3600},
			"2026-01-09T12:00:30Z", "2026-01-09T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			span, open := read(t, test.opening).Open(at(t, test.now))

			if open != (test.want != "") || open && !span.Start.Equal(at(t, test.want)) {
				t.Errorf("open %v: %v, want %q", open, span, test.want)
			}
		})
	}
}

// Those that are still open have not been missed.
func TestEndedWindowsAreThoseThatCameAndWent(t *testing.T) {
	schedule := read(t, packingpolicy.Opening{Schedule: "0 */6 * * *", DurationSeconds: 3600})

	ended := schedule.Ended(at(t, "2026-01-10T00:00:00Z"), at(t, "2026-01-10T18:30:00Z"))

	var hours []int
	for _, span := range ended {
		hours = append(hours, span.Start.Hour())
	}
	if !slices.Equal(hours, []int{6, 12}) {
		t.Errorf("windows at %v", hours)
	}
}

// Whoever wrote it reads the message in the policy's status.
func TestScheduleThatCannotBeReadIsToldWithItsPlace(t *testing.T) {
	hour := int32(3600)
	tests := map[string]struct {
		opening packingpolicy.Opening
		want    string
	}{
		"nonsense":         {packingpolicy.Opening{Schedule: "nightly", DurationSeconds: hour}, `windows[1]: schedule "nightly"`},
		"six fields":       {packingpolicy.Opening{Schedule: "0 0 2 * * *", DurationSeconds: hour}, "it has five fields"},
		"an interval":      {packingpolicy.Opening{Schedule: "@every 1h", DurationSeconds: hour}, "depends on when the process began"},
		"a zone in it":     {packingpolicy.Opening{Schedule: "TZ=Asia/Tokyo 0 2 * * *", DurationSeconds: hour}, "write it as timeZone"},
		"an unknown zone":  {packingpolicy.Opening{Schedule: "0 2 * * *", TimeZone: "Mars/Olympus", DurationSeconds: hour}, `no time zone "Mars/Olympus"`},
		"the machine's":    {packingpolicy.Opening{Schedule: "0 2 * * *", TimeZone: "Local", DurationSeconds: hour}, `no time zone "Local"`},
		"without duration": {packingpolicy.Opening{Schedule: "0 2 * * *"}, "durationSeconds is 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			good := packingpolicy.Opening{Schedule: "0 2 * * *", DurationSeconds: hour}

			_, err := packingpolicy.ReadSchedule([]packingpolicy.Opening{good, test.opening})

			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "windows[1]") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
