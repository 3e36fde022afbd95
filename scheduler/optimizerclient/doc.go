// Package optimizerclient asks the optimiser over its Unix socket.
//
// It never waits longer than its context allows, and takes the best plan that came before the
// optimiser stopped answering. Plans are not checked here; see package plan.
package optimizerclient
