// Package rehearsal tries what the plugins of a profile would say to a plan, outside the
// scheduler's own cycles and without any effect on them.
//
// A Stage is a second instance of the profile's plugins, on a snapshot of its own that is taken
// from the scheduler's cache, pods whose binding is under way included. Plugins that this project
// has never heard of are among them: nothing about filtering is written down a second time.
//
// Replay carries a plan out on copies of the nodes, as preemption's dry run does, in the order
// in which the executor will.
package rehearsal
