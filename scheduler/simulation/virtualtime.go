package simulation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// forgetEvery is after how many events the client's record of its calls is dropped.
const forgetEvery = 1000

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
	passed, err := s.passTime(ctx, bufio.NewReader(in), &answers{encoder, writer})
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

func (s *Simulator) passTime(ctx context.Context, in *bufio.Reader, out *answers) (Passed, error) {
	lives := newLives(map[string]string{}, func(life *Life) error { return out.Encode(life) })
	r, err := s.start(ctx, Instance{Observed: true, inVirtualTime: true}, lives)
	if err != nil {
		return Passed{}, err
	}
	defer r.stop()
	r.reasons = lives.reasons
	r.stuck = stuck{kind: lives.kind, kinds: map[string]refusal{}}
	var schedulers []string
	for _, profile := range s.configuration.Profiles {
		schedulers = append(schedulers, profile.SchedulerName)
	}
	v := &virtualTime{run: r, lives: lives, timeline: newTimeline(&r.reading, schedulers), namespaces: map[string]bool{}, out: out}
	err = v.pass(in)
	for _, pod := range slices.Sorted(maps.Keys(lives.there)) {
		lives.put(lives.there[pod])
	}
	return Passed{
		Until: lives.now, Events: v.events, Attempts: r.attempts, CPUSeconds: cpuTime().Seconds(),
		PeakMemoryBytes: peakMemory(), Reading: v.timeline.found(),
	}, errors.Join(err, lives.broken)
}

// virtualTime is a run in which time passes.
type virtualTime struct {
	*run
	lives      *lives
	timeline   *timeline
	namespaces map[string]bool
	events     int
	out        *answers
}

func (v *virtualTime) pass(in *bufio.Reader) error {
	for number := 1; ; number++ {
		line, readError := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			event, err := v.timeline.read(line)
			if err == nil {
				err = v.happen(&event)
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		if errors.Is(readError, io.EOF) {
			return nil
		}
		if readError != nil {
			return fmt.Errorf("reading line %d: %w", number, readError)
		}
	}
}

// happen ends the lives that are over by then, and has the event happen.
func (v *virtualTime) happen(event *Event) error {
	for life := v.lives.nextEnd(event.At); life != nil; life = v.lives.nextEnd(event.At) {
		if err := v.step(func() error { return v.takeAway(life, life.arrival.How) }); err != nil {
			return err
		}
	}
	v.lives.now = event.At
	if err := v.step(func() error { return v.apply(event) }); err != nil || !event.State {
		return err
	}
	return v.tellState()
}

// step lets the scheduler come to rest after a change.
func (v *virtualTime) step(change func() error) error {
	if v.events++; v.events%forgetEvery == 0 {
		v.api.client.ClearActions()
	}
	if now := time.Unix(0, int64(v.lives.now*float64(time.Second))); now.After(v.clock.Now()) {
		v.clock.SetTime(now)
	}
	v.stuck.clear()
	if err := change(); err != nil {
		return err
	}
	if err := v.api.nodes.wait(v.ctx); err != nil {
		return err
	}
	if err := v.countBudgets(); err != nil {
		return err
	}
	return errors.Join(v.settle(), v.lives.broken)
}

func (v *virtualTime) apply(event *Event) error {
	switch {
	case event.Template != nil:
		v.timeline.keep(event.Template)
	case event.Namespace != nil:
		v.namespaces[event.Namespace.Name] = true
		return v.put(&Object{event.Namespace}, namespaceResource)
	case event.Node != nil:
		if node := v.timeline.node(event.Node); node != nil {
			return v.replaceNode(node)
		}
	case event.NodeGone != "":
		return v.loseNode(event.NodeGone)
	case event.Object != nil:
		if object := v.timeline.object(event.Object); object != nil {
			return v.put(object, resourceOf(object.GetObjectKind().GroupVersionKind()))
		}
	case event.ObjectGone != nil:
		return v.removeObject(event.ObjectGone)
	case event.Pod != nil:
		return v.arriveOne(event.Pod)
	case event.PodGone != "":
		if life := v.lives.last[event.PodGone]; life != nil {
			return v.takeAway(life, life.arrival.How)
		}
	case event.Evict != "":
		return v.evictOne(event.Evict)
	}
	return nil
}
