package priorityoptimizer

// state is what the loop is doing.
//
//	standingBy -> starting                          the process begins to schedule
//	starting   -> idle, executing                   the plans of former processes are known; one is resumed
//	idle       -> settling -> solving               pods turn out unschedulable, and no further ones do for a while
//	idle, settling, backingOff -> solving           a user asks for a plan, or approves one
//	solving    -> executing, idle, backingOff       there is a plan to carry out; there is none; the optimiser failed
//	executing  -> idle, settling, backingOff        the plan is completed; pods are left; it was aborted
//	any        -> closing                           a plan has ended, and its final status is not written yet
//	any        -> standingBy                        another process leads
type state string

const (
	// standingBy: another process schedules, or this one has not begun to.
	standingBy state = "StandingBy"
	// starting: this process schedules, and does not know yet what former ones have left open.
	starting state = "Starting"
	// idle: no pod waits for a solve.
	idle state = "Idle"
	// settling: pods wait for a solve, which starts once no further ones turn out unschedulable.
	settling state = "Settling"
	// backingOff: pods wait for a solve, which former ones put off: they failed, found nothing or took long.
	backingOff state = "BackingOff"
	// solving: a plan is looked for, checked and started. It is left within the step in which it was entered.
	solving state = "Solving"
	// executing: a plan is carried out.
	executing state = "Executing"
	// closing: plans have ended whose final status the API server has not accepted yet. Nothing else is done meanwhile.
	closing state = "Closing"
)

// next is the state that follows from who leads, which plans are open, and what is due.
func (l *loop) next() state {
	switch {
	case !l.plugin.lead.Held.Load():
		return standingBy
	case len(l.records.Unwritten) > 0:
		return closing
	case l.execution != nil:
		return executing
	case l.leadingSince.IsZero():
		return starting
	}
	if _, due := l.plugin.Trigger.Due(); !due {
		return idle
	}
	if l.plugin.Trigger.IsPutOff() {
		return backingOff
	}
	return settling
}

// update moves on to the next state.
func (l *loop) update() state {
	l.enter(l.next())
	return l.state
}

func (l *loop) enter(now state) {
	if now != l.state {
		l.plugin.logger.V(4).Info("State of the plugin", "was", l.state, "is", now)
	}
	l.state = now
}
