// Package rehearsal tries a plan with the plugins of a profile, outside the scheduler's own cycles
// and without any effect on them.
//
// A Framework is a second instance of the profile's plugins, on its own snapshot, which is taken
// from the scheduler's cache and includes pods whose binding is under way. Plugins that this project
// does not know are among them: no filter is implemented a second time.
//
// Replay carries a plan out on copies of the nodes, as preemption's dry run does, in the order
// in which the executor will.
package rehearsal
