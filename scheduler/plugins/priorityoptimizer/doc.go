// Package priorityoptimizer is the scheduler plugin of "Priority Matters", section Kubernetes
// Plugin: it marks the pods that the stock heuristics cannot place, asks the optimiser for a
// better packing, and carries the answer out.
//
// Package gate is what happens in the scheduling queue and in the scheduling cycles, at these extension
// points:
//
//  1. PreEnqueue holds new pods back while a solve goes on, never longer than MaxHoldSeconds. It
//     holds the pods of a solve until the solve ends, pods with the signature of one that found no
//     node until the next solve, and a plan's pods until their place is free. In trigger Batch it
//     also holds pods until a plan has a place for them.
//  2. PreFilter does the same for the pods that were already queued, and sends the pods a plan moves
//     or places to the node the plan gave them. Filter keeps all other pods out of the room the plan
//     still needs.
//  3. PostFilter marks the pods that cannot be placed, and so triggers the next solve. PodGroupPostFilter does so for all
//     pods of a pod group of which too few found nodes.
//  4. Reserve takes one of the plan's open places, Unreserve gives it back. While the scheduler tries a pod group, only the
//     group's cycle counts who has which.
//  5. PostBind counts the arrivals; the last one completes the plan.
//
// Pods that PreFilter rejects go back into the queue without a write (HandleFailures).
//
// One goroutine owns the state machine (type state): loop decides what is due. Package records reads and writes the
// PackingPlan objects, package planning looks for a plan, and package execution carries it out, each with what clusterview
// shows. They tell the gate when to hold pods and which plan is active; its callbacks never wait for them.
//
// Without an optimiser the plugin steps aside and the profile schedules like the stock scheduler.
//
// To follow one plan from an unschedulable pod to the moved pod, read in this order: gate/points.go, loop.go, solve.go,
// planning/session.go, snapshot/snapshot.go, optimizerclient/client.go, planning/verify.go, plan/plan.go,
// rehearsal/replay.go, records/status.go, execution/execution.go, execution/placing.go, executor/execution.go,
// executor/waves.go, gate/gate.go, executor/replacements.go, executor/arrivals.go. How a restarted process goes on with a
// plan is in resume.go, and what is different for the pods of a pod group in gate/group.go and executor/trial.go.
package priorityoptimizer
