package packingplan

import (
	"slices"
	"strings"
	"time"
)

// Outdated are the names of the finished records beyond the newest limit ones.
func Outdated(records []*Record, limit int) []string {
	var finished []*Record
	for _, record := range records {
		if record.Status.Phase.Final() || record.AwaitsApproval() {
			finished = append(finished, record)
		}
	}
	if len(finished) <= limit {
		return nil
	}
	slices.SortFunc(finished, func(a, b *Record) int {
		if order := b.completed().Compare(a.completed()); order != 0 {
			return order
		}
		return strings.Compare(a.Name(), b.Name())
	})
	var names []string
	for _, record := range finished[limit:] {
		names = append(names, record.Name())
	}
	return names
}

func (r *Record) completed() time.Time {
	if r.Status.CompletionTime == nil {
		return r.Created()
	}
	return r.Status.CompletionTime.Time
}
