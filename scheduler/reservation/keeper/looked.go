package keeper

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// looked is what the keeper saw and did last about one reservation, so that it does nothing about those of which
// nothing has changed.
type looked struct {
	// seen is the version of which nothing was left to be done, at that version of its account.
	seen    *reservation.Record
	version uint64
	// written is the version after which a status was written, at; the informer will show that.
	written *reservation.Record
	at      time.Time
}

func (k *Keeper) lookedAt(record *reservation.Record) *looked {
	last := k.looked[record.UID()]
	if last == nil {
		last = &looked{}
		k.looked[record.UID()] = last
	}
	return last
}

// awaits says that the informer is about to show what has been written.
func (l *looked) awaits(record *reservation.Record, now time.Time) bool {
	return l.written == record && now.Sub(l.at) < shownWithin
}

// forgetAllBut forgets the reservations that are gone.
func (k *Keeper) forgetAllBut(present []*reservation.Record) {
	if len(k.looked) <= len(present) {
		return
	}
	uids := sets.New[types.UID]()
	for _, record := range present {
		uids.Insert(record.UID())
	}
	maps.DeleteFunc(k.looked, func(uid types.UID, _ *looked) bool { return !uids.Has(uid) })
}

// rests says that nothing is to be done about a reservation that is available: nothing of it has changed, its
// time is not over, and its node is there.
func (l *looked) rests(record *reservation.Record, version uint64, free map[string]resources.Vector, now time.Time) bool {
	return record.Status.Phase == reservation.Available && l.seen == record && l.version == version &&
		!expired(record, now) && present(free, record.Status.NodeName)
}
