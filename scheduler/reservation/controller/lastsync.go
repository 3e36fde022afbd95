package controller

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// lastSync is what the last sync of a reservation saw and did, so that the controller skips unchanged reservations.
type lastSync struct {
	// seen is the object with which nothing was left to be done, at that version of its account.
	seen    *reservation.Record
	version uint64
	// written is the object whose status was replaced at the time at; the informer will show the new version.
	written *reservation.Record
	at      time.Time
}

func (c *Controller) lastSyncOf(record *reservation.Record) *lastSync {
	last := c.lastSyncs[record.UID()]
	if last == nil {
		last = &lastSync{}
		c.lastSyncs[record.UID()] = last
	}
	return last
}

// awaitsInformer says that the informer does not show the last written status yet.
func (s *lastSync) awaitsInformer(record *reservation.Record, now time.Time) bool {
	return s.written == record && now.Sub(s.at) < informerTimeout
}

// forgetAllBut forgets the reservations that are gone.
func (c *Controller) forgetAllBut(present []*reservation.Record) {
	if len(c.lastSyncs) <= len(present) {
		return
	}
	uids := sets.New[types.UID]()
	for _, record := range present {
		uids.Insert(record.UID())
	}
	maps.DeleteFunc(c.lastSyncs, func(uid types.UID, _ *lastSync) bool { return !uids.Has(uid) })
}

// isUpToDate says that nothing has to be done about an available reservation: it has not changed or expired, and its node
// still exists.
func (s *lastSync) isUpToDate(record *reservation.Record, version uint64, free map[string]resources.Vector, now time.Time) bool {
	return record.Status.Phase == reservation.Available && s.seen == record && s.version == version &&
		!expired(record, now) && present(free, record.Status.NodeName)
}
