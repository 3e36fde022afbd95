// Package executor decides in which order a plan is carried out, and who may take the room it
// makes. It calls no API: the plugin asks it what to evict next and tells it what happened.
//
// Invariants:
//
//  1. A running pod is evicted for a move only once its target has room for it, counting what
//     is still on its way there. Only where moves wait for one another in a circle is one pod
//     evicted early, the one whose gap is shortest.
//  2. A place is open to the pods of one owner and class, because replacements come back under
//     new names. Each place is taken once: by Reserve, given back by Unreserve, and done with
//     Bound.
//  3. Pods outside the plan only get what is free beyond the room of all arrivals to come.
//  4. Of one owner, no more pods are on their way at a time than allowed.
//  5. An eviction that turns out not to be needed is not carried out.
package executor
