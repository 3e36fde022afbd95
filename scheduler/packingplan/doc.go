// Package packingplan keeps the PackingPlan objects: one for each solve, so that everything the
// optimiser did or would do can be read, watched and audited with kubectl.
package packingplan
