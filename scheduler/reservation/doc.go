// Package reservation is Koordinator's resource reservation (seed 001) on an unmodified scheduler:
// room on a node that is held for named owners.
//
// A Reservation is an object of the API. The ledger is what the scheduler knows of all of them,
// and of the pods that have taken room of them; it can be computed from nothing but the objects
// and the annotations of the pods.
//
// Invariants:
//
//  1. A pod takes from one reservation at most, and says in an annotation from which.
//  2. What is allocated of a reservation is the sum of the requests of the pods that took from it
//     and are bound or being bound.
//  3. What is held of a reservation is its allocatable less the allocated, never less than nothing.
package reservation
