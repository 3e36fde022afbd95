package priorityoptimizer

import (
	"time"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// lessonLasts is how long a refusal of the profile's plugins is taken for granted. It may depend
// on anything, so it cannot be known when it ends.
const lessonLasts = 30 * time.Second

// lessons are the classes of pods and the nodes that rehearsals have refused them lately.
type lessons struct {
	learned map[snapshot.Pair]time.Time
}

func (l *lessons) learn(refused snapshot.Pair, now time.Time) {
	if l.learned == nil {
		l.learned = map[snapshot.Pair]time.Time{}
	}
	l.learned[refused] = now
}

// at are the pairs that still hold, and when the first of them ends to; the others are forgotten.
func (l *lessons) at(now time.Time) (held []snapshot.Pair, next time.Time) {
	for one, when := range l.learned {
		ends := when.Add(lessonLasts)
		if !now.Before(ends) {
			delete(l.learned, one)
			continue
		}
		held = append(held, one)
		if next.IsZero() || ends.Before(next) {
			next = ends
		}
	}
	return held, next
}
