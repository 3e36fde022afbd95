package plugins

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/plugins/reservations"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/reservation/controller"
	"github.com/stowage/stowage/scheduler/resources"
)

const (
	// wakeEvery is the least time between two activations of the pods that wait for reserved room.
	wakeEvery = 250 * time.Millisecond
	// syncTimeout is how long a process that begins to schedule waits for the ledger to be complete: on a busy machine that
	// takes seconds. Where the custom resources are not installed it never is, so it waits for absentTimeout only; an API
	// server that has just started may not know them yet.
	syncTimeout   = 30 * time.Second
	absentTimeout = 2 * time.Second
	// syncTick is how often it checks.
	syncTick = 5 * time.Millisecond
)

// startReservations starts the ledger, and the reservation controller as soon as the process leads, if any
// profile has the plugin and there is an API server. The watch of plans is not started.
func (i *Installation) startReservations(
	ctx context.Context, to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile,
	rehearsers map[string]*rehearsal.Framework,
) error {
	at := slices.IndexFunc(profiles, func(one config.KubeSchedulerProfile) bool { return i.reserving[one.SchedulerName] != nil })
	if at < 0 || to.Profiles[profiles[at].SchedulerName].KubeConfig() == nil {
		return nil
	}
	first := profiles[at].SchedulerName
	handle := to.Profiles[first]
	made, err := client(handle)
	if err != nil {
		return err
	}
	plans, err := i.plansOf(handle)
	if err != nil {
		return err
	}
	from := reservation.Informers{Reservations: reservation.NewInformer(made), Plans: plans,
		Pods: handle.SharedInformerFactory().Core().V1().Pods().Informer(), Book: resources.NewBook(handle, i.devices)}
	retention := time.Duration(i.reserving[first].Args.RetentionSeconds * float64(time.Second))
	reservationController := controller.New(controller.Parts{
		Clock: clock.RealClock{}, Store: reservation.NewStore(made), Ledger: i.ledger, Placer: rehearsers[first],
		Informer: from.Reservations, Recorder: handle.EventRecorder(), Retention: retention,
	})
	known, err := i.ledger.Watch(klog.FromContext(ctx), from, reservationController.Wake)
	if err != nil {
		return fmt.Errorf("%s: %w", reservations.Name, err)
	}
	for _, plugin := range i.reserving {
		if err := plugin.Watch(from.Pods); err != nil {
			return err
		}
	}
	var absent atomic.Bool
	for _, watched := range []cache.SharedIndexInformer{from.Reservations, plans} {
		err := watched.SetWatchErrorHandlerWithContext(func(ctx context.Context, of *cache.Reflector, err error) {
			absent.Store(apierrors.IsNotFound(err))
			cache.DefaultWatchErrorHandler(ctx, of, err)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", reservations.Name, err)
		}
	}
	go from.Reservations.RunWithContext(ctx)
	go i.wakeRejected(ctx)
	leadership.Announce(to, func() {
		awaitLedger(ctx, known, absent.Load)
		go reservationController.Run(ctx)
	})
	return nil
}

// awaitLedger waits for the ledger, so that a process that begins to schedule does not give reserved room away.
func awaitLedger(ctx context.Context, known, absent func() bool) {
	began := time.Now()
	complete := false
	err := wait.PollUntilContextTimeout(ctx, syncTick, syncTimeout, true, func(context.Context) (bool, error) {
		complete = known()
		return complete || absent() && time.Since(began) >= absentTimeout, nil
	})
	if !complete && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Scheduling begins although it is not known what is reserved",
			"waited", time.Since(began), "resourcesInstalled", !absent())
	}
}

// wakeRejected activates the pods, of every profile, that were refused a node on which room has come free.
func (i *Installation) wakeRejected(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-i.ledger.News():
			freed := i.ledger.Freed()
			for _, plugin := range i.reserving {
				plugin.Freed(freed)
			}
		}
	}, wakeEvery)
}
