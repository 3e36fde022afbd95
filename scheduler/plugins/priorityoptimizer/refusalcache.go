package priorityoptimizer

import (
	"time"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// refusalTTL is how long a refusal of the profile's plugins is assumed to hold. It may depend on anything, so nothing
// shows when it ends.
const refusalTTL = 30 * time.Second

// refusalCache keeps the pairs of pod class and node that recent rehearsals have refused.
type refusalCache struct {
	refusedAt map[snapshot.Pair]time.Time
}

func (c *refusalCache) add(refused snapshot.Pair, now time.Time) {
	if c.refusedAt == nil {
		c.refusedAt = map[snapshot.Pair]time.Time{}
	}
	c.refusedAt[refused] = now
}

// current are the pairs that still hold, and when the first of them ends to; the others are forgotten.
func (c *refusalCache) current(now time.Time) (held []snapshot.Pair, next time.Time) {
	for one, when := range c.refusedAt {
		ends := when.Add(refusalTTL)
		if !now.Before(ends) {
			delete(c.refusedAt, one)
			continue
		}
		held = append(held, one)
		if next.IsZero() || ends.Before(next) {
			next = ends
		}
	}
	return held, next
}
