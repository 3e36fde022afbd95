// Package reservations is the scheduler plugin that keeps the room of Reservation objects free for their owners, and
// the room of plans free for their pods.
//
//  1. PreFilter looks up what is reserved: for the pod, and against it.
//  2. Filter keeps a pod out of room that is held for others, unless its priority is higher than
//     the reservation's.
//  3. Score prefers nodes with more room reserved for the pod.
//  4. Reserve takes from the reservation that is filled most, Unreserve gives it back.
//  5. Bind records in the pod what it took, in the same request as the binding, so that the ledger can
//     be rebuilt at any time. It binds only while the process leads, and must come before DefaultBinder.
//
// Where nothing is reserved, none of them does anything. A rejected pod is activated when room comes free on a node
// that was refused to it.
package reservations
