package priorityoptimizer

import (
	"slices"
	"time"
)

const (
	// rememberedStates is how many states are known to hold nothing to gain. More than one, since
	// a cluster may swing between a few.
	rememberedStates = 32
	// provedFor is how long a proof is relied upon: a plugin of the profile may go by what no snapshot tells.
	provedFor = 10 * time.Minute
	// unprovedFor is the same of a search that found nothing in time. Another one may have better luck.
	unprovedFor = time.Minute
)

// memory knows the states for which the optimiser need not be asked again.
type memory struct {
	states []rememberedState
}

type rememberedState struct {
	fingerprint string
	until       time.Time
}

func (m *memory) remember(fingerprint string, until time.Time) {
	kept := m.states[:0]
	for _, state := range m.states {
		if state.fingerprint != fingerprint {
			kept = append(kept, state)
		}
	}
	m.states = append(kept, rememberedState{fingerprint, until})
	if len(m.states) > rememberedStates {
		m.states = m.states[1:]
	}
}

// isEmpty says that no state is remembered any more.
func (m *memory) isEmpty(now time.Time) bool {
	return !slices.ContainsFunc(m.states, func(one rememberedState) bool { return now.Before(one.until) })
}

// knows says whether the state is remembered still.
func (m *memory) knows(fingerprint string, now time.Time) bool {
	for _, state := range m.states {
		if state.fingerprint == fingerprint {
			return now.Before(state.until)
		}
	}
	return false
}
