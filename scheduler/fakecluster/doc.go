// Package fakecluster holds a property test: plans are carried out on small fake clusters in which everything happens in
// random order. The scheduler's plugins, the ledger of reserved room and the rehearsal are the real ones; an API server,
// controllers, kubelets, informers, the scheduling cycles and the optimiser's answers are imitated, in virtual time.
//
//	go test ./fakecluster -args -runs=50000 -seed=7
package fakecluster
