package controller

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

func fail(record *reservation.Record, reason, message string, now time.Time) {
	record.Status.Phase = reservation.Failed
	record.Status.Set(reservation.ConditionReady, false, reason, message, now)
}

// writeAccount sets what has been taken, from the ledger's account alone.
func writeAccount(record *reservation.Record, account reservation.Account) {
	record.Status.CurrentOwners = nil
	for _, pod := range account.Pods {
		record.Status.CurrentOwners = append(record.Status.CurrentOwners, v1.ObjectReference{
			Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
	}
	slices.SortFunc(record.Status.CurrentOwners, func(a, b v1.ObjectReference) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	record.Status.Allocated = account.Allocated.List()
	if len(record.Status.Allocated) == 0 {
		record.Status.Allocated = nil
	}
}

// withoutRequests removes a pod's requests, so that it fits on any node.
func withoutRequests(pod *v1.Pod) {
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			containers[i].Resources = v1.ResourceRequirements{}
		}
	}
	pod.Spec.Resources, pod.Spec.Overhead = nil, nil
}

// lastSync is what the last sync of a reservation saw and did, so that the controller skips unchanged reservations.
type lastSync struct {
	// seen is the object with which nothing was left to be done, at that version of its account.
	seen    *reservation.Record
	version uint64
	// written is the object whose status was replaced at the time at; the informer will show the new version.
	written *reservation.Record
	at      time.Time
}

// awaitsInformer says that the informer does not show the last written status yet.
func (s *lastSync) awaitsInformer(record *reservation.Record, now time.Time) bool {
	return s.written == record && now.Sub(s.at) < informerTimeout
}

// isUpToDate says that nothing has to be done about an available reservation: it has not changed or expired, and its node
// still exists.
func (s *lastSync) isUpToDate(record *reservation.Record, version uint64, free map[string]resources.Vector, now time.Time) bool {
	_, present := free[record.Status.NodeName]
	return present && record.Status.Phase == reservation.Available && s.seen == record && s.version == version && !record.Expired(now)
}
