package priorityoptimizer

import (
	"time"
)

// lessonLasts is how long a refusal of the profile's plugins is taken for granted. It may depend
// on anything, so it cannot be known when it ends.
const lessonLasts = 30 * time.Second

// pair is a class of pods and a node that refused it.
type pair struct{ class, node string }

// lessons are the pairs that rehearsals have refused lately.
type lessons struct {
	learned map[pair]time.Time
}

func (l *lessons) learn(class, node string, now time.Time) {
	if l.learned == nil {
		l.learned = map[pair]time.Time{}
	}
	l.learned[pair{class, node}] = now
}

// at are the pairs that still hold; the others are forgotten.
func (l *lessons) at(now time.Time) []pair {
	var held []pair
	for one, when := range l.learned {
		if now.Sub(when) < lessonLasts {
			held = append(held, one)
		} else {
			delete(l.learned, one)
		}
	}
	return held
}
