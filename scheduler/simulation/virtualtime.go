package simulation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Passed is the last line of an answer: what there is to say of the whole.
type Passed struct {
	// Until is the time of the last event.
	Until float64 `json:"until"`
	// Events are the lines, and the ends of lives.
	Events int `json:"events"`
	// Attempts are how often a pod was tried.
	Attempts int `json:"attempts"`
	// CPUSeconds and PeakMemoryBytes are the process's.
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
	// Evictions is there if any was asked for.
	Evictions *Evictions `json:"evictions,omitempty"`
	// NodeHoursSaved and Saved are of the nodes that went since they were empty, until the end; Saved is in the currency
	// of their prices.
	NodeHoursSaved float64 `json:"nodeHoursSaved,omitempty"`
	Saved          float64 `json:"saved,omitempty"`
	Reading
	// Error says why the answer ends before the events.
	Error string `json:"error,omitempty"`
}

// PassTime lets a stream of events happen in virtual time, one JSON line each, and writes a line for each pod when it ends
// or all is over, and a last one. Between two events the scheduler comes to rest, for which no time passes. It returns how
// many streams failed, none or one; the error is about reading or writing.
func (s *Simulator) PassTime(ctx context.Context, in io.Reader, out io.Writer) (failed int, err error) {
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	passed, err := s.passTime(ctx, in, &answers{encoder, writer})
	if err != nil {
		failed, passed.Error = 1, err.Error()
	}
	return failed, errors.Join(encoder.Encode(map[string]Passed{"passed": passed}), writer.Flush())
}

// answers are the lines of an answer.
type answers struct {
	*json.Encoder
	writer *bufio.Writer
}

// now writes a line that somebody waits for before the next event.
func (a *answers) now(line any) error { return errors.Join(a.Encode(line), a.writer.Flush()) }

func (s *Simulator) passTime(ctx context.Context, in io.Reader, out *answers) (Passed, error) {
	lives := newLives(map[string]string{}, func(life *Life) error { return out.Encode(life) })
	r, err := s.start(ctx, Instance{Observed: true, inVirtualTime: true}, lives)
	if err != nil {
		return Passed{}, err
	}
	defer r.stop()
	r.reasons = lives.reasons
	// What a plan says of one pod is not true of all of its template.
	r.stuck = stuck{refusals: map[string]refusal{}}
	if r.planning == nil {
		r.stuck.templateOf = lives.templateOf
	}
	timeline := &timeline{observation: observation{Reading: &r.reading, unknown: map[string]int{}}, templates: map[string]*v1.Pod{}}
	for _, profile := range s.configuration.Profiles {
		timeline.schedulers = append(timeline.schedulers, profile.SchedulerName)
	}
	v := &virtualTime{run: r, timeline: timeline,
		out: out, began: r.clock.Now(), evicted: map[string]float64{},
		guards: map[string]map[string]*guard{}, restart: func() error { return s.restart(ctx, r) }}
	r.api.evict, r.api.marked, lives.started = v.evictForPlan, v.noteEmptied, v.start
	if r.planning != nil {
		v.coolDown = r.planning.coolDown.Seconds()
		if err := r.planning.ready(); err != nil {
			return Passed{}, err
		}
	}
	err = eachLine(ctx, in, func(number int, line []byte) error {
		event, err := v.timeline.read(line)
		if err == nil {
			err = v.happen(&event)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		return nil
	})
	for _, pod := range slices.Sorted(maps.Keys(lives.there)) {
		lives.put(lives.there[pod])
	}
	v.timeline.listUnknown()
	passed := Passed{
		Until: lives.now, Events: v.events, Attempts: r.attempts, CPUSeconds: cpuTime().Seconds(),
		PeakMemoryBytes: usage().Maxrss * 1024, Reading: r.reading,
	}
	if v.evictions != (Evictions{}) {
		passed.Evictions = &v.evictions
	}
	for _, one := range v.gone {
		hours := (lives.now - one.At) / time.Hour.Seconds()
		passed.NodeHoursSaved += hours
		passed.Saved += hours * one.price
	}
	return passed, errors.Join(err, v.tellPolicies(true), lives.broken)
}

// virtualTime is a run in which time passes.
type virtualTime struct {
	*run
	timeline *timeline
	events   int
	out      *answers
	// guards are the disruption budgets by namespace and name.
	guards   map[string]map[string]*guard
	settings Settings
	// began is the time of second 0.
	began time.Time
	// later is what happens by itself.
	later timers
	// evicted is when a replacement of each recorded pod was last evicted.
	evicted   map[string]float64
	evictions Evictions
	coolDown  float64
	// restart has another process take the place of the scheduler's.
	restart func() error
	// gone are the emptied nodes that were taken away.
	gone []GoneNode
}

// happen has all that comes by then happen, and then the event.
func (v *virtualTime) happen(event *Event) error {
	if err := v.passUntil(event.At); err != nil {
		return err
	}
	v.lives.now = event.At
	v.events++
	if err := v.step(func() error { return v.apply(event) }); err != nil || !event.State {
		return err
	}
	return v.tellState()
}

// passUntil has happen, in the order of their times, what is due later, and the steps of what makes plans.
func (v *virtualTime) passUntil(at float64) error {
	for {
		until, planned := at, false
		if v.planning != nil {
			if due := v.seconds(v.planning.nextDue()); due <= until {
				until, planned = due, true
			}
		}
		var happens func() error
		if timer := v.later.take(until); timer != nil {
			happens = timer.do
			v.lives.now = max(v.lives.now, timer.at)
		} else if planned {
			happens = v.planning.step
			v.lives.now = max(v.lives.now, until)
		} else {
			return nil
		}
		if err := v.step(happens); err != nil {
			return err
		}
		if err := v.tellPolicies(false); err != nil {
			return err
		}
	}
}

// seconds is a time of the clock, in seconds from the beginning.
func (v *virtualTime) seconds(at time.Time) float64 { return at.Sub(v.began).Seconds() }

// step lets the scheduler come to rest after a change.
func (v *virtualTime) step(change func() error) error {
	v.api.client.ClearActions() // whose record would grow for ever
	if now := v.began.Add(time.Duration(math.Round(v.lives.now * float64(time.Second)))); now.After(v.clock.Now()) {
		v.clock.SetTime(now)
	}
	v.stuck.clear()
	if err := change(); err != nil {
		return err
	}
	if err := v.countBudgets(); err != nil {
		return err
	}
	if err := errors.Join(v.settle(), v.lives.broken); err != nil || v.planning == nil {
		return err
	}
	v.planning.notice()
	return nil
}

func (v *virtualTime) apply(event *Event) error {
	switch {
	case event.Settings != nil:
		v.set(event.Settings)
	case event.Policy != nil:
		return v.applyPolicy(event.Policy)
	case event.Template != nil:
		v.timeline.keep(event.Template)
	case event.Namespace != nil:
		return v.put(namespaceResource, event.Namespace)
	case event.Node != nil:
		if nodes := v.timeline.nodes([]json.RawMessage{event.Node}); len(nodes) > 0 {
			return v.putNode(&nodes[0])
		}
	case event.NodeGone != "":
		return v.loseNode(event.NodeGone)
	case event.Object != nil:
		if objects := v.timeline.others([]json.RawMessage{event.Object}); len(objects) > 0 {
			return v.putObject(&objects[0])
		}
	case event.ObjectGone != nil:
		return v.removeObject(event.ObjectGone)
	case event.Pod != nil:
		return v.arriveOne(event.Pod)
	case event.PodGone != "":
		if life := v.lives.last[event.PodGone]; life != nil {
			_, err := v.takeAway(life, life.arrival.How, false)
			return err
		}
	case event.Restart:
		return v.restart()
	case event.Evict != "":
		return v.evictOne(event.Evict)
	}
	return nil
}
