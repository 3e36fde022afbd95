package packingpolicy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stowage/stowage/scheduler/packingpolicy"
)

func windows(t *testing.T, zone string, of ...packingpolicy.WindowSpec) *packingpolicy.Windows {
	t.Helper()
	read, err := packingpolicy.NewWindows(&packingpolicy.Spec{TimeZone: zone, Windows: of})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

const hour = 3600

// A window is open from its first moment to the one before its last.
func TestWindowIsOpenFromItsOpeningUntilItsEnd(t *testing.T) {
	nightly := windows(t, "Europe/Berlin", packingpolicy.WindowSpec{Schedule: "0 2 * * *", DurationSeconds: 2 * hour})
	for now, want := range map[string]string{
		"2026-11-24T00:59:59Z": "",
		"2026-11-24T01:00:00Z": "2026-11-24T01:00:00Z",
		"2026-11-24T02:59:59Z": "2026-11-24T01:00:00Z",
		"2026-11-24T03:00:00Z": "",
		"2026-07-24T00:00:00Z": "2026-07-24T00:00:00Z", // an hour earlier in summer
	} {
		open, is := nightly.Open(at(t, now))
		if got := open.At.UTC().Format(time.RFC3339); is != (want != "") || is && got != want {
			t.Errorf("at %s: %s, open %t, want %q", now, got, is, want)
		}
	}
}

// Twice a year the clock shows an hour twice or not at all. A night's window opens once in each night, and lasts as long
// as it says.
func TestWindowOpensOnceInEachNightOfTheYear(t *testing.T) {
	for zone, schedule := range map[string]string{
		"Europe/Berlin":    "30 2 * * *",
		"America/New_York": "30 1 * * *",
		// The clock is moved by half an hour, and at midnight.
		"Australia/Lord_Howe": "45 1 * * *",
		"America/Asuncion":    "0 0 * * *",
		"Asia/Beirut":         "15 0 * * *",
	} {
		nightly := windows(t, zone, packingpolicy.WindowSpec{Schedule: schedule, DurationSeconds: hour})
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		days, now := map[string]int{}, time.Date(2025, 12, 31, 12, 0, 0, 0, location)
		for {
			next, is := nightly.Next(now)
			if !is || !next.At.After(now) || next.Ends.Sub(next.At) != time.Hour {
				t.Fatalf("%s after %s: %v, %t", zone, now, next, is)
			}
			if open, is := nightly.Open(next.At); !is || !open.At.Equal(next.At) {
				t.Errorf("%s: opens at %s, but then %v is open", zone, next.At, open)
			}
			if _, is := nightly.Open(next.At.Add(-time.Second)); is {
				t.Errorf("%s: open before %s", zone, next.At)
			}
			now = next.At
			if now.In(location).Year() > 2026 {
				break
			}
			days[now.In(location).Format(time.DateOnly)]++
		}
		if len(days) != 365 {
			t.Errorf("%s: on %d days of 2026", zone, len(days))
		}
		for day, times := range days {
			if times != 1 {
				t.Errorf("%s: %d times on %s", zone, times, day)
			}
		}
	}
}

// In spring the night has no half past two: its window opens as soon as the clock goes on.
func TestTimeThatTheClockSkipsIsMadeUpFor(t *testing.T) {
	nightly := windows(t, "Europe/Berlin", packingpolicy.WindowSpec{Schedule: "30 2 * * *", DurationSeconds: hour})

	spring, _ := nightly.Next(at(t, "2026-03-28T12:00:00Z"))
	autumn, _ := nightly.Next(at(t, "2026-10-24T12:00:00Z"))

	if want := at(t, "2026-03-29T01:00:00Z"); !spring.At.Equal(want) {
		t.Errorf("in spring at %s, want %s", spring.At, want)
	}
	if want := at(t, "2026-10-25T00:30:00Z"); !autumn.At.Equal(want) {
		t.Errorf("in autumn at %s, want %s, the first half past two", autumn.At, want)
	}
}

// Each opening has a budget of its own, so it must be clear which one counts.
func TestOfOverlappingWindowsTheLatestCounts(t *testing.T) {
	both := windows(t, "Etc/UTC",
		packingpolicy.WindowSpec{Schedule: "0 20 * * 5", DurationSeconds: 48 * hour},
		packingpolicy.WindowSpec{Schedule: "0 2 * * *", DurationSeconds: hour})

	for now, want := range map[string]string{
		"2026-11-27T21:00:00Z": "2026-11-27T20:00:00Z", // Friday evening
		"2026-11-28T02:30:00Z": "2026-11-28T02:00:00Z",
		"2026-11-28T03:30:00Z": "2026-11-27T20:00:00Z",
	} {
		if open, is := both.Open(at(t, now)); !is || !open.At.Equal(at(t, want)) {
			t.Errorf("at %s: %v", now, open)
		}
	}
	if next, _ := both.Next(at(t, "2026-11-27T21:00:00Z")); !next.At.Equal(at(t, "2026-11-28T02:00:00Z")) {
		t.Errorf("next %v", next)
	}
}

// The API server checks the form only; what it cannot know is said in the policy's status, all of it at once.
func TestWindowsThatCannotBeReadAreNamed(t *testing.T) {
	_, err := packingpolicy.NewWindows(&packingpolicy.Spec{TimeZone: "Middle/Earth", Windows: []packingpolicy.WindowSpec{
		{Schedule: "0 2 * * *"}, {Schedule: "61 2 * * *"}, {Schedule: "0 0 30 2 *"}, {Schedule: "@every 1h"},
		{Schedule: "TZ=Asia/Tokyo 0 2 * * *"},
	}})

	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"timeZone", "windows[1]", "windows[2]", "no day that ever comes", "windows[3]", "windows[4]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

// A window that is asked for every second must not cost more than a scheduler has.
func BenchmarkOpen(b *testing.B) {
	dense, err := packingpolicy.NewWindows(&packingpolicy.Spec{Windows: []packingpolicy.WindowSpec{
		{Schedule: "* * * * *", DurationSeconds: 7 * 24 * hour}}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		dense.Open(anyDay)
	}
}

var anyDay = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
