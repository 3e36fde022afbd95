// Package reservation is Koordinator's resource reservation (seed 001) on an unmodified scheduler:
// room on a node that is held for named owners, and for the pods of plans.
//
// A Reservation is an object of the API. What a plan holds is recorded only in its PackingPlan: the places of the pods
// that it sends to nodes, for as long as it is being carried out. The ledger contains both, and what pods have taken of
// them; it can be rebuilt from the objects and the annotations of the pods.
//
// Invariants:
//
//  1. A pod takes from one reservation or plan at most, and names it in an annotation.
//  2. The allocated amount of a reservation is the sum of the requests of its owners on its node that claim to have
//     taken from it, or are being bound. A place of a plan is taken by one pod that the plan expects there.
//  3. The held amount of a reservation is its allocatable less its allocated amount, never negative; that of a plan
//     is the places that no pod has taken.
package reservation
