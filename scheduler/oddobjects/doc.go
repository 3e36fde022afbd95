// Package oddobjects holds a fuzz test that gives the scheduler and the optimiser objects that are odd, but legal:
// Kubernetes' own validation accepts them. A user who may create a pod must not be able to switch the optimiser off
// for all others.
//
//	make fuzz OBJECTS=1000000 SEED=7
package oddobjects
