// Package snapshot turns the scheduler's view of the cluster into the optimiser's Snapshot.
//
// Invariants:
//
//  1. Every pod that takes room on a node is in the snapshot, also a terminating one, one of
//     another scheduler, and one whose binding is still under way. Finished pods are not.
//  2. A pod whose needs the contract cannot express is of a class with unsupported needs: no
//     plan touches it.
//  3. Pods of one class can replace each other. A class never depends on a pod's name or UID, so
//     a replacement is of the class of the pod that it replaces.
//  4. The same state gives the same fingerprint, whatever the names of the pods are.
package snapshot
