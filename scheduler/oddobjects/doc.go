// Package oddobjects holds a test that throws objects at the scheduler and the optimiser which are legal, since
// Kubernetes' own validation lets them in, and odd. Whoever may create a pod must not be able to switch the
// optimiser off for all others.
//
//	make fuzz OBJECTS=1000000 SEED=7
package oddobjects
