package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// turn is one look at one policy. It changes the record's status, which is written afterwards, and what it says about
// that is said once it has been written.
type turn struct {
	*Controller
	ctx    context.Context
	policy *packingpolicy.Record
	now    time.Time
	said   []func()
}

// say keeps an event until the status has been written, so that it is said once.
func (t *turn) say(eventType, reason, action, format string, args ...any) {
	if t.Recorder != nil {
		t.said = append(t.said, func() { t.Recorder.Eventf(t.policy.Reference(), nil, eventType, reason, action, format, args...) })
	}
}

// advance does what is due.
func (t *turn) advance() error {
	status := &t.policy.Status
	schedule, err := packingpolicy.ReadSchedule(t.policy.Spec.Windows)
	if err != nil {
		t.set(packingpolicy.Accepted, false, "InvalidSchedule", err.Error())
		schedule = nil // what is open is closed
	} else {
		t.set(packingpolicy.Accepted, true, "Accepted", "the policy can be read")
	}
	if t.policy.Spec.Suspend {
		schedule = nil
	}
	changed := status.ObservedGeneration != t.policy.Generation() || status.Since == nil
	if changed {
		// Windows of an earlier schedule, or of none, are not missed.
		status.Since = &metav1.Time{Time: t.now}
		status.ObservedGeneration = t.policy.Generation()
	}
	open := t.openWindow(schedule, changed)
	status.NextWindow = nil
	if next, some := schedule.Next(t.now); some {
		status.NextWindow = &metav1.Time{Time: next.Start}
	}
	err = t.closeAllBut(open)
	if err == nil && open != nil {
		err = t.work(open)
	}
	t.describe(open)
	return err
}

func (t *turn) set(condition string, holds bool, reason, message string) {
	t.policy.Status.Set(condition, holds, reason, message, t.policy.Generation(), t.now)
}

// describe says whether a window is open.
func (t *turn) describe(open *packingpolicy.Window) {
	switch {
	case open != nil:
		t.set(packingpolicy.Active, true, "WindowOpen", "a window is open until "+stamp(open.End))
	case t.policy.Spec.Suspend:
		t.set(packingpolicy.Active, false, "Suspended", "no window opens until spec.suspend is false")
	case t.policy.Status.NextWindow == nil:
		t.set(packingpolicy.Active, false, "NoWindow", "no window is to come")
	default:
		t.set(packingpolicy.Active, false, "BetweenWindows", "no window is open now")
	}
}

// openWindow is the window that is open now, in the status; nil without one. One goes on to its end although others
// begin meanwhile. Windows that came and went unseen are noted.
func (t *turn) openWindow(schedule packingpolicy.Schedule, changed bool) *packingpolicy.Window {
	t.noteMissed(schedule)
	span, open := schedule.Open(t.now)
	if !open {
		return nil
	}
	for i := range t.policy.Status.Windows {
		window := &t.policy.Status.Windows[i]
		if window.Phase == packingpolicy.Open && (changed || t.now.Before(window.End.Time)) {
			if changed {
				window.End = metav1.NewTime(span.End)
			}
			return window
		}
		if window.Start.Time.Equal(span.Start) {
			return nil // it has had its plans
		}
	}
	t.add(span, packingpolicy.Open)
	t.say(v1.EventTypeNormal, "WindowOpened", "Open", "plans may be made until %s", span.End.Format(time.RFC3339))
	return &t.policy.Status.Windows[0]
}

// noteMissed notes the windows that ended before anybody looked, unless another one was open meanwhile.
func (t *turn) noteMissed(schedule packingpolicy.Schedule) {
	status := &t.policy.Status
	since := status.Since.Time
	for _, span := range schedule.Ended(since, t.now) {
		status.Since = &metav1.Time{Time: span.Start}
		if slices.ContainsFunc(status.Windows, func(known packingpolicy.Window) bool {
			return known.Start.Time.Before(span.End) && span.Start.Before(known.End.Time)
		}) {
			continue
		}
		t.add(span, packingpolicy.Missed)
		t.say(v1.EventTypeWarning, "WindowMissed", "Miss", "no scheduler led in the window from %s to %s",
			span.Start.Format(time.RFC3339), span.End.Format(time.RFC3339))
	}
}

// add puts a window in front, and drops the oldest ones that have ended. It makes what points into the list stale.
func (t *turn) add(span packingpolicy.Span, phase packingpolicy.WindowPhase) {
	status := &t.policy.Status
	status.Windows = slices.Insert(status.Windows, 0, packingpolicy.Window{
		Start: metav1.NewTime(span.Start), End: metav1.NewTime(span.End), Phase: phase})
	kept := max(1, t.policy.Kept())
	for last := len(status.Windows) - 1; last >= kept && status.Windows[last].Phase != packingpolicy.Open; last-- {
		status.Windows = status.Windows[:last]
	}
	if phase == packingpolicy.Missed {
		t.measure(status.Windows[0])
	}
}

// closeAllBut ends the windows that are over: it aborts their plans, and waits for their ends.
func (t *turn) closeAllBut(open *packingpolicy.Window) error {
	for i := range t.policy.Status.Windows {
		window := &t.policy.Status.Windows[i]
		if window == open || window.Phase != packingpolicy.Open {
			continue
		}
		shown := t.look(window)
		going := goingPlan(window)
		if going == nil {
			t.close(window)
			continue
		}
		if record := shown[going.Name]; record == nil || !record.Spec.Abort {
			if err := t.abort(t.ctx, going.Name); err != nil {
				return err
			}
		}
		window.Message = fmt.Sprintf("the window closed before plan %s was done", going.Name)
	}
	return nil
}

func (t *turn) close(window *packingpolicy.Window) {
	status := &t.policy.Status
	window.Phase = packingpolicy.Closed
	if window.End.After(t.now) {
		window.End = metav1.NewTime(t.now)
	}
	status.Moves += int64(window.Moves)
	status.NodesEmptied += int64(window.NodesEmptied)
	saves := ""
	if window.HourlySaving != "" {
		status.HourlySaving, saves = window.HourlySaving, ", which saves "+window.HourlySaving+" an hour"
	}
	t.say(v1.EventTypeNormal, "WindowClosed", "Close", "%d nodes emptied by %d moves%s", window.NodesEmptied, window.Moves, saves)
	t.measure(*window)
}

// measure counts a window that ended once that has been written.
func (t *turn) measure(ended packingpolicy.Window) {
	t.said = append(t.said, func() {
		packingpolicy.Count(t.policy.Name(), ended)
	})
}

// work has the next plan of the open window made, if it is time.
func (t *turn) work(window *packingpolicy.Window) error {
	t.look(window)
	why, due := t.due(window)
	if !due {
		window.Message = why
		return nil
	}
	left := t.policy.MovesLeft(window.Moves)
	name := fmt.Sprintf("%s-%d-%d", t.policy.Name(), window.Start.Unix(), len(window.Plans)+1)
	if err := t.Leads(t.ctx); err != nil {
		return err
	}
	_, err := t.Plans.CreateNamed(t.ctx, metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{packingpolicy.PolicyLabel: t.policy.Name()},
		Annotations: map[string]string{packingpolicy.WindowAnnotation: stamp(window.Start)},
	}, t.policy.PlanSpec(left))
	if err != nil {
		return err
	}
	t.created[name] = t.now
	window.Plans = append(window.Plans, packingpolicy.Plan{Name: name, Phase: packingplan.Pending})
	window.Message = "plan " + name + " is being made"
	if t.policy.Spec.Approval == packingpolicy.Manual {
		t.say(v1.EventTypeNormal, "PlanProposed", "Propose",
			"plan %s is made and waits for its approval until %s", name, stamp(window.End))
	}
	return nil
}

// again is how long after a plan that changed nothing the next one is made.
const again = time.Minute

// due says whether another plan may be made in the window, and if not, why.
func (t *turn) due(window *packingpolicy.Window) (why string, due bool) {
	if going := goingPlan(window); going != nil {
		if going.Phase == packingplan.Proposed && t.policy.Spec.Approval == packingpolicy.Manual {
			return "plan " + going.Name + " waits for its approval", false
		}
		return "plan " + going.Name + " is under way", false
	}
	if left := t.policy.MovesLeft(window.Moves); left != nil && *left == 0 {
		return "the moves of the window are used up", false
	}
	if len(window.Plans) == 0 {
		return "", true
	}
	last := window.Plans[len(window.Plans)-1]
	if last.Aborted {
		return "plan " + last.Name + " was aborted at a user's request: no other one is made in this window", false
	}
	if last.Phase == packingplan.Completed && last.Moves > 0 {
		return "", true
	}
	if next := last.EndedAt.Add(again); t.now.Before(next) {
		return fmt.Sprintf("plan %s changed nothing; the next one is made at %s", last.Name, next.UTC().Format(time.RFC3339)), false
	}
	return "", true
}

// goingPlan is the plan of the window that has not ended, or nil.
func goingPlan(window *packingpolicy.Window) *packingpolicy.Plan {
	for i := range window.Plans {
		if !window.Plans[i].Phase.Final() {
			return &window.Plans[i]
		}
	}
	return nil
}
