// Package plan reads the optimiser's plans and checks them completely.
//
// A Plan of this package has been checked against a snapshot:
//
//  1. It names that snapshot, and only pods and nodes of it, each pod once.
//  2. It places pods that wait and moves or evicts pods that run where it says, none of which
//     is immovable, needs what the contract cannot express, or goes where it was refused.
//  3. Every node has room for its pods once the plan is done, in every resource.
//  4. It takes no more of a disruption budget than that allows, all pods counted together.
//  5. It places strictly more pods of some priority, and for each higher one it neither places
//     fewer pods nor disrupts any; under the strict policy it evicts only if pods of strictly
//     higher priority than the evicted one are placed.
//
// Check runs again on a fresh snapshot right before a plan is carried out.
package plan
