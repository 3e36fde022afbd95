// Package optimizerclient asks the optimiser over its Unix socket.
//
// It never waits longer than its context allows, and takes the best plan that came before the
// optimiser went silent. What a plan says is not looked at here; see package plan.
package optimizerclient
