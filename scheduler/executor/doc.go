// Package executor decides in which order a plan is carried out, and which pods may take the room
// that it makes. It calls no API: the plugin asks it what to evict next and reports what happened.
//
// Invariants:
//
//  1. A running pod is evicted for a move only once its target has room for it, beside the
//     replacements that are still to arrive there. Only where moves wait for each other in a cycle
//     is one pod evicted early: the one whose replacement will wait for the shortest time.
//  2. A place is open to the pods of one owner and class, because replacements have new names. Each
//     place is taken once: Reserve takes it, Unreserve gives it back, and Bound completes it.
//  3. Pods outside the plan only get what is free beyond the room of all outstanding arrivals.
//  4. No more pods of one owner are being moved at a time than allowed.
//  5. An eviction that turns out not to be needed is not carried out.
package executor
