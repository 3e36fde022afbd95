package simulation

import (
	"context"
	"sync"
)

// eventCounter compares the events of one kind of object that the API has sent with those that each event handler has
// handled. Events come in order and none is dropped, so equal counts mean that every handler has seen every event.
type eventCounter struct {
	mu      sync.Mutex
	changed *sync.Cond
	sent    int
	handled []int
}

func newEventCounter() *eventCounter {
	c := &eventCounter{}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// addHandler adds a handler and returns the function that it calls after each event.
func (c *eventCounter) addHandler() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	index := len(c.handled)
	c.handled = append(c.handled, 0)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.handled[index]++
		c.changed.Broadcast()
	}
}

// send counts one event that the API has sent.
func (c *eventCounter) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
}

// wait returns when every handler has handled every event sent so far, or when ctx ends.
func (c *eventCounter) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.allHandled() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.changed.Wait()
	}
	return nil
}

func (c *eventCounter) allHandled() bool {
	for _, handled := range c.handled {
		if handled < c.sent {
			return false
		}
	}
	return true
}
