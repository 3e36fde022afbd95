package priorityoptimizer

import "slices"

// rememberedStates is how many states are known to hold nothing to gain. More than one, since
// a cluster may swing between a few.
const rememberedStates = 32

// memory knows the states for which the optimiser need not be asked again.
type memory struct {
	fingerprints []string
}

func (m *memory) remember(fingerprint string) {
	if m.knows(fingerprint) {
		return
	}
	m.fingerprints = append(m.fingerprints, fingerprint)
	if len(m.fingerprints) > rememberedStates {
		m.fingerprints = m.fingerprints[1:]
	}
}

func (m *memory) knows(fingerprint string) bool {
	return slices.Contains(m.fingerprints, fingerprint)
}
