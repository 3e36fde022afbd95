package packingpolicy

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/robfig/cron/v3"
)

// Windows are the windows of one policy.
type Windows struct {
	location *time.Location
	windows  []window
}

type window struct {
	schedule cron.Schedule
	lasts    time.Duration
}

// Opening is one time at which a window opens or has opened.
type Opening struct {
	At, Ends time.Time
}

// NewWindows reads the windows. The error names every one that is invalid.
func NewWindows(spec *Spec) (*Windows, error) {
	zone := spec.TimeZone
	if zone == "" {
		zone = "Etc/UTC"
	}
	var errs []error
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		errs = append(errs, fmt.Errorf("timeZone: %q is no IANA time zone, such as Europe/Berlin", zone))
	}
	read := &Windows{location: location}
	for i, one := range spec.Windows {
		schedule, err := parse(one.Schedule)
		if err != nil {
			errs = append(errs, fmt.Errorf("windows[%d].schedule: %q: %w", i, one.Schedule, err))
			continue
		}
		read.windows = append(read.windows, window{schedule, time.Duration(one.DurationSeconds) * time.Second})
	}
	return read, errors.Join(errs...)
}

// parse reads a schedule in cron's five fields.
func parse(text string) (cron.Schedule, error) {
	if strings.Contains(text, "=") || strings.HasPrefix(text, "@every") {
		return nil, errors.New("must name times of the day; the time zone has a field of its own, and so has the interval")
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return nil, err
	}
	if schedule.Next(anyTime).IsZero() {
		return nil, errors.New("names no day that ever comes")
	}
	return schedule, nil
}

var anyTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// longestShift is more than any change of a clock. Schedules are searched so much further back.
const longestShift = 25 * time.Hour

// Open is the window that is open: of several, the one that opened last.
func (w *Windows) Open(now time.Time) (open Opening, is bool) {
	for _, one := range w.windows {
		from := w.wall(now).Add(-one.lasts - longestShift)
		for wall := one.schedule.Next(from); !wall.IsZero(); wall = one.schedule.Next(wall) {
			at := w.instant(wall)
			if at.After(now) {
				break
			}
			if ends := at.Add(one.lasts); now.Before(ends) && (!is || !at.Before(open.At)) {
				open, is = Opening{at, ends}, true
			}
		}
	}
	return open, is
}

// Next is the window that opens next.
func (w *Windows) Next(now time.Time) (next Opening, is bool) {
	for _, one := range w.windows {
		wall := one.schedule.Next(w.wall(now).Add(-longestShift))
		for !wall.IsZero() && !w.instant(wall).After(now) {
			wall = one.schedule.Next(wall)
		}
		if wall.IsZero() {
			continue
		}
		if at := w.instant(wall); !is || at.Before(next.At) {
			next, is = Opening{at, at.Add(one.lasts)}, true
		}
	}
	return next, is
}

// wall is what the clock on the wall shows, as a time of a zone whose clock is never changed. Schedules are about it.
func (w *Windows) wall(at time.Time) time.Time {
	_, offset := at.In(w.location).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// instant is when the clock on the wall first shows that time or, if it skips it, when it does so.
func (w *Windows) instant(wall time.Time) time.Time {
	before, after := w.offsetAt(wall.Add(-longestShift)), w.offsetAt(wall.Add(longestShift))
	first, second := wall.Add(-max(before, after)), wall.Add(-min(before, after))
	for _, at := range []time.Time{first, second} {
		if w.wall(at).Equal(wall) {
			return at
		}
	}
	// The clock goes from before this time to after it at the start of the later zone.
	start, _ := second.In(w.location).ZoneBounds()
	return start.UTC()
}

func (w *Windows) offsetAt(at time.Time) time.Duration {
	_, offset := at.In(w.location).Zone()
	return time.Duration(offset) * time.Second
}
