// Package oddobjects holds a fuzz test that gives the scheduler and the optimiser objects that are odd, but legal:
// Kubernetes' own validation accepts them. A user who may create a pod must not be able to switch the optimiser off
// for all others. What-if also gets objects that no cluster would accept: it reads clusters of other versions, and files.
//
//	make fuzz OBJECTS=1000000 OBSERVED=100000 SEED=7
package oddobjects
