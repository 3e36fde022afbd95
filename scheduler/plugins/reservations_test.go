package plugins

import (
	"context"
	"testing"
	"time"
)

// On a busy machine it takes seconds until the ledger is complete: to schedule before that would give reserved room away.
func TestALedgerThatTakesItsTimeIsWaitedFor(t *testing.T) {
	t.Parallel()
	began := time.Now()
	complete := false

	awaitLedger(t.Context(), func() bool {
		complete = time.Since(began) > absentTimeout+time.Second
		return complete
	}, func() bool { return false })

	if !complete {
		t.Error("scheduling began although the ledger was not complete")
	}
}

// Where the custom resources are not installed, the ledger is never complete, and pods must not wait for it.
func TestALedgerOfResourcesThatAreAbsentIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), syncTimeout-5*time.Second)
	defer cancel()

	awaitLedger(ctx, func() bool { return false }, func() bool { return true })

	if ctx.Err() != nil {
		t.Error("waited as long as for a ledger that is being filled")
	}
}
