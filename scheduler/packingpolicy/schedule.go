package packingpolicy

import (
	"fmt"
	"time"
	_ "time/tzdata" // containers have no database of time zones

	"github.com/robfig/cron/v3"
)

// mostMissed bounds how many windows are looked through after a long time without any leader.
const mostMissed = 10_000

// Span is when a window is open: from Start until End, which is not part of it.
type Span struct{ Start, End time.Time }

// Schedule is when the windows of a policy are open.
type Schedule []opening

type opening struct {
	cron     cron.Schedule
	duration time.Duration
}

// ReadSchedule reads the windows of a policy. The error says which of them is wrong, and how.
func ReadSchedule(windows []Opening) (Schedule, error) {
	var schedule Schedule
	for i, window := range windows {
		location, err := time.LoadLocation(window.TimeZone)
		if err != nil || window.TimeZone == "Local" {
			return nil, fmt.Errorf("windows[%d]: no time zone %q; names are those of the IANA database, as in Europe/Berlin",
				i, window.TimeZone)
		}
		parsed, err := cron.ParseStandard(window.Schedule)
		if err != nil {
			return nil, fmt.Errorf("windows[%d]: schedule %q: %w; it has five fields, as in 0 2 * * 6", i, window.Schedule, err)
		}
		fields, inFields := parsed.(*cron.SpecSchedule)
		if !inFields {
			return nil, fmt.Errorf("windows[%d]: schedule %q depends on when the process began; it has five fields, as in 0 2 * * 6",
				i, window.Schedule)
		}
		if fields.Location != time.Local {
			return nil, fmt.Errorf("windows[%d]: schedule %q has a time zone of its own; write it as timeZone", i, window.Schedule)
		}
		if window.DurationSeconds < 1 {
			return nil, fmt.Errorf("windows[%d]: durationSeconds is %d; a window is open for a second at least",
				i, window.DurationSeconds)
		}
		fields.Location = location
		schedule = append(schedule, opening{fields, time.Duration(window.DurationSeconds) * time.Second})
	}
	return schedule, nil
}

// Next is the first window that begins after the given time, the longest of those that begin at once. It reports false
// where none ever does.
func (s Schedule) Next(after time.Time) (Span, bool) {
	var next Span
	for _, one := range s {
		start := one.cron.Next(after.UTC())
		if start.IsZero() {
			continue
		}
		span := Span{start, start.Add(one.duration)}
		if next.Start.IsZero() || start.Before(next.Start) || start.Equal(next.Start) && span.End.After(next.End) {
			next = span
		}
	}
	return next, !next.Start.IsZero()
}

// Ended are the windows that began after the first time, and had ended by the second, in order. After a very long time it
// is only the first ones; the rest comes with the next call.
func (s Schedule) Ended(after, until time.Time) []Span {
	var ended []Span
	for range mostMissed {
		next, some := s.Next(after)
		if !some || next.Start.After(until) {
			break
		}
		if !next.End.After(until) {
			ended = append(ended, next)
		}
		after = next.Start
	}
	return ended
}

// Open is, of the windows that are open at a time, the one that ends last. It reports false if none is.
func (s Schedule) Open(at time.Time) (Span, bool) {
	var open Span
	for _, one := range s {
		for start := one.cron.Next(at.Add(-one.duration).UTC()); !start.IsZero() && !start.After(at); start = one.cron.Next(start) {
			if end := start.Add(one.duration); end.After(open.End) {
				open = Span{start, end}
			}
		}
	}
	return open, !open.End.IsZero()
}
