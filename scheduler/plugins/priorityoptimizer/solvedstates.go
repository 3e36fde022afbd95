package priorityoptimizer

import (
	"slices"
	"time"
)

const (
	// maxSolvedStates is how many states are remembered. More than one, since a cluster may alternate between a few.
	maxSolvedStates = 32
	// provedFor is how long a proof is relied upon: a plugin of the profile may depend on what no snapshot contains.
	provedFor = 10 * time.Minute
	// unprovedFor is the same for a search that found nothing in time. Another search may find something.
	unprovedFor = time.Minute
)

// solvedStates knows the states for which the optimiser need not be asked again.
type solvedStates struct {
	states []solvedState
}

type solvedState struct {
	fingerprint string
	until       time.Time
}

func (s *solvedStates) add(fingerprint string, until time.Time) {
	kept := s.states[:0]
	for _, state := range s.states {
		if state.fingerprint != fingerprint {
			kept = append(kept, state)
		}
	}
	s.states = append(kept, solvedState{fingerprint, until})
	if len(s.states) > maxSolvedStates {
		s.states = s.states[1:]
	}
}

// isEmpty says that no state is remembered any more.
func (s *solvedStates) isEmpty(now time.Time) bool {
	return !slices.ContainsFunc(s.states, func(one solvedState) bool { return now.Before(one.until) })
}

// has says whether the state is remembered still.
func (s *solvedStates) has(fingerprint string, now time.Time) bool {
	for _, state := range s.states {
		if state.fingerprint == fingerprint {
			return now.Before(state.until)
		}
	}
	return false
}
