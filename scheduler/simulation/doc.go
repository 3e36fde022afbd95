// Package simulation runs the real scheduler without an API server: nodes and pods in, placements out.
//
// No part of the scheduler is imitated. Its queue, cache, informers, plugins and profiles are those of
// cmd/kube-scheduler; only the API server is replaced, by client-go's object tracker, and the loop
// around Scheduler.ScheduleOne, by one that knows when an attempt is over. The order of events is
//
//  1. the nodes appear one after the other, then the pods that already have a node;
//  2. the other pods appear one after the other. After each, the scheduler tries whatever is in its
//     queue until the queue is empty, and every event that this causes has been handled, before the
//     next pod appears.
//
// This is what a real cluster does when pods are created one by one, each after the scheduler has
// settled. A pod that was unschedulable is tried again when the scheduler's own queueing hints say so,
// for instance a pod with an affinity to a later pod. The queue's clock advances only by a millisecond
// per pod, so no retry waits for a back-off and none is late.
//
// Preempted pods vanish at once, without a grace period. No controller replaces them unless the
// instance says so.
package simulation
