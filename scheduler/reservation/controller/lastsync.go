package controller

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// lastSyncs is what the keeper saw and did last about one reservation, so that it does nothing about those of which
// nothing has changed.
type lastSync struct {
	// seen is the version of which nothing was left to be done, at that version of its account.
	seen    *reservation.Record
	version uint64
	// written is the version after which a status was written, at; the informer will show that.
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

// awaitsInformer says that the informer is about to show what has been written.
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

// isUpToDate says that nothing is to be done about a reservation that is available: nothing of it has changed, its
// time is not over, and its node is there.
func (s *lastSync) isUpToDate(record *reservation.Record, version uint64, free map[string]resources.Vector, now time.Time) bool {
	return record.Status.Phase == reservation.Available && s.seen == record && s.version == version &&
		!expired(record, now) && present(free, record.Status.NodeName)
}
