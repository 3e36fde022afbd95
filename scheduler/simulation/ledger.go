package simulation

import (
	"context"
	"sync"
)

// ledger compares the events of one kind of object that the API has sent with those that each event
// handler has dealt with. Events come in order and none is dropped, so equal counts mean that every
// handler has seen everything.
type ledger struct {
	mu      sync.Mutex
	changed *sync.Cond
	sent    int
	handled []int
}

func newLedger() *ledger {
	l := &ledger{}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// enlist adds a handler and returns the function that it calls after each event.
func (l *ledger) enlist() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	index := len(l.handled)
	l.handled = append(l.handled, 0)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.handled[index]++
		l.changed.Broadcast()
	}
}

// send counts one event that the API has sent.
func (l *ledger) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
}

// settle returns when every handler has dealt with every event sent so far, or when ctx ends.
func (l *ledger) settle(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.balanced() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.changed.Wait()
	}
	return nil
}

func (l *ledger) balanced() bool {
	for _, handled := range l.handled {
		if handled < l.sent {
			return false
		}
	}
	return true
}
