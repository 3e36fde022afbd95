package optimizerclient

import "fmt"

// UnreachableError says that no process answers on the socket.
type UnreachableError struct {
	Socket string
	Cause  error
}

// Error names the socket and the way out.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("optimiser not reachable on %s: %v; is it running, and is the socket shared with the scheduler?",
		e.Socket, e.Cause)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// LateError says that the time was up before any plan came.
type LateError struct{ Cause error }

// Error says so.
func (e *LateError) Error() string {
	return fmt.Sprintf("optimiser gave no answer in time: %v", e.Cause)
}

// Unwrap returns the cause.
func (e *LateError) Unwrap() error { return e.Cause }

// BrokenError says that the optimiser failed or broke the contract.
type BrokenError struct{ Cause error }

// Error says so.
func (e *BrokenError) Error() string { return fmt.Sprintf("optimiser failed: %v", e.Cause) }

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.Cause }
