package controller

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

const messageDeleted = "the plan was deleted before it had ended; all moves that it was given count as made"

// enterWindow makes the open window the present one, and the one before it the last one. A window that is shortened or
// prolonged keeps its account: it is the same as long as it opened at the same time.
func enterWindow(status *packingpolicy.Status, open packingpolicy.Opening, isOpen bool) {
	opened := metav1.NewTime(open.At)
	if present := status.Window; present != nil && (!isOpen || !present.Opened.Equal(&opened)) {
		status.LastWindow, status.Window = present, nil
	}
	if !isOpen {
		return
	}
	if status.Window == nil {
		if before := status.LastWindow; before != nil && before.Opened.Equal(&opened) {
			status.Window, status.LastWindow = before, nil // it is open again
		} else {
			status.Window = &packingpolicy.Window{Opened: opened}
		}
	}
	status.Window.Ends = metav1.NewTime(open.Ends)
}

// followPlan takes over what has become of the policy's last plan. When the plan has ended, what it did is counted in the
// account of its window: once, since the phase that says so is written together with the account.
func (c *Controller) followPlan(record *packingpolicy.Record, now time.Time) {
	last := record.Status.LastPlan
	if !last.Open() {
		return
	}
	plan := c.planNamed(last.Name)
	if plan == nil || plan.UID() != last.UID {
		since, missing := c.missingSince[last.UID]
		if !missing {
			since = now
			c.missingSince[last.UID] = now
		}
		if now.Sub(since) < informerTimeout {
			return // it may have been created just now
		}
		ended := metav1.NewTime(now)
		last.Phase, last.Message, last.Ended = packingpolicy.Deleted, messageDeleted, &ended
		count(&record.Status, last)
		delete(c.missingSince, last.UID)
		return
	}
	delete(c.missingSince, last.UID)
	last.Phase, last.Message = plan.Status.Phase, plan.Status.Message
	if last.Phase == "" {
		last.Phase = packingplan.Pending
	}
	if nodes := plan.Status.NodesInUse; nodes != nil {
		last.NodesBefore, last.NodesAfter = ptr.To(nodes.Before), ptr.To(nodes.After)
		last.NodesLowerBound = ptr.To(nodes.LowerBound)
	}
	if !last.Phase.Final() {
		return
	}
	last.Ended, last.Moves = plan.Status.CompletionTime, plan.Disruptions()
	if last.Ended == nil {
		last.Ended = ptr.To(metav1.NewTime(now))
	}
	if last.Phase == packingplan.Completed {
		last.PodsPlaced = int32(len(plan.Status.Placements))
	}
	count(&record.Status, last)
}

// count adds what an ended plan did to the account of its window.
func count(status *packingpolicy.Status, last *packingpolicy.LastPlan) {
	for _, window := range []*packingpolicy.Window{status.Window, status.LastWindow} {
		if window == nil || !window.Opened.Equal(&last.Window) {
			continue
		}
		window.Moves += last.Moves
		window.PodsPlaced += last.PodsPlaced
		if last.Phase == packingplan.Completed && last.NodesBefore != nil && last.NodesAfter != nil {
			window.NodesEmptied += *last.NodesBefore - *last.NodesAfter
		}
		return
	}
}

// occurrence is something that a user would want to find in the policy's events.
type occurrence struct {
	reason, note string
	warning      bool
}

// eventsOf are those that lie between two versions of a status.
func eventsOf(now, before *packingpolicy.Status) (all []occurrence) {
	if closed := before.Window; closed != nil && (now.Window == nil || !now.Window.Opened.Equal(&closed.Opened)) {
		note := "the window closed"
		if done := now.LastWindow; done != nil && done.Opened.Equal(&closed.Opened) {
			note = fmt.Sprintf("the window closed after %d plans: %d pods moved, %d nodes emptied, %d pods placed",
				done.Plans, done.Moves, done.NodesEmptied, done.PodsPlaced)
		}
		all = append(all, occurrence{reason: "WindowClosed", note: note})
	}
	if opened := now.Window; opened != nil && (before.Window == nil || !before.Window.Opened.Equal(&opened.Opened)) {
		all = append(all, occurrence{reason: "WindowOpened",
			note: "a window opened, until " + opened.Ends.UTC().Format(time.RFC3339)})
	}
	last, former := now.LastPlan, before.LastPlan
	if last != nil {
		switch {
		case former == nil || former.UID != last.UID:
			all = append(all, occurrence{reason: "PlanCreated", note: "asked for plan " + last.Name})
		case former.Open() && !last.Open():
			all = append(all, occurrence{reason: "Plan" + string(last.Phase),
				note:    fmt.Sprintf("plan %s: %s; %d pods moved", last.Name, last.Message, last.Moves),
				warning: last.Phase == packingplan.Failed || last.Phase == packingpolicy.Deleted})
		}
	}
	for _, condition := range now.Conditions {
		isNew := true
		for _, known := range before.Conditions {
			isNew = isNew && (known.Type != condition.Type || known.Reason != condition.Reason)
		}
		if isNew && (condition.Reason == reasonInvalid && condition.Type == packingpolicy.Valid ||
			condition.Reason == reasonFailed || condition.Reason == reasonBudget) {
			all = append(all, occurrence{reason: condition.Reason, note: condition.Message,
				warning: condition.Reason != reasonBudget})
		}
	}
	return all
}
