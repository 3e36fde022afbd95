// Package reservation is Koordinator's resource reservation (seed 001) on an unmodified scheduler:
// room on a node that is held for named owners, and for the pods of plans.
//
// A Reservation is an object of the API. What a plan holds stands in its PackingPlan alone: the places of the
// pods that it sends to nodes, for as long as it is being carried out. The ledger is what the scheduler knows of
// both, and of the pods that have taken room of them; it can be computed from nothing but the objects and the
// annotations of the pods.
//
// Invariants:
//
//  1. A pod takes from one reservation or plan at most, and says in an annotation from which.
//  2. What is allocated of a reservation is the sum of the requests of its owners on its node that say they took
//     from it, or are being bound. A place of a plan is taken by one pod that the plan expects there.
//  3. What is held of a reservation is its allocatable less the allocated, never less than nothing; of a plan,
//     the places that nobody has taken.
package reservation
