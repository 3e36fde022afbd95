package plugins

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/plugins/reservations"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/reservation/keeper"
)

// keepReservations starts the books, and the keeper as soon as the process leads. It returns nil if no
// profile has the plugin, or there is no API server.
func (i *Installation) keepReservations(
	ctx context.Context, to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile, stages map[string]*rehearsal.Stage,
) (*reservation.Rooms, error) {
	first := i.firstReserving(profiles)
	if first == "" || to.Profiles[first].KubeConfig() == nil {
		return nil, nil
	}
	handle := to.Profiles[first]
	made, err := client(handle)
	if err != nil {
		return nil, err
	}
	informer := reservation.NewInformer(made)
	store := reservation.NewStore(made)
	keeping := keeper.New(keeper.Parts{
		Clock: clock.RealClock{}, Store: store, Ledger: i.ledger, Stage: stages[first], Informer: informer,
		Recorder: handle.EventRecorder(), Retention: i.reserving[first].Args.Retention(), Changed: i.changed,
	})
	pods := handle.SharedInformerFactory().Core().V1().Pods().Informer()
	if err := i.ledger.Keep(klog.FromContext(ctx), informer, pods, func() { i.changed(); keeping.Wake() }); err != nil {
		return nil, fmt.Errorf("%s: %w", reservations.Name, err)
	}
	go informer.RunWithContext(ctx)
	leadership.Announce(to, func() { go keeping.Run(ctx) })
	return &reservation.Rooms{Store: store, Ledger: i.ledger}, nil
}

// changed wakes up the pods of every profile that wait for reserved room.
func (i *Installation) changed() {
	for _, plugin := range i.reserving {
		plugin.Changed()
	}
}

func (i *Installation) firstReserving(profiles []config.KubeSchedulerProfile) string {
	for _, profile := range profiles {
		if i.reserving[profile.SchedulerName] != nil {
			return profile.SchedulerName
		}
	}
	return ""
}
