package plugins

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/plugins/reservations"
	"github.com/stowage/stowage/scheduler/plugins/scorecache"
	"github.com/stowage/stowage/scheduler/reservation"
)

// Registry returns every plugin of Stowage by name, for a scheduler in which nothing is reserved and no plan is made.
func Registry() frameworkruntime.Registry { return registryWith(reservation.NewLedger()) }

// registryWith returns them with the given ledger, as they are in rehearsals.
func registryWith(ledger *reservation.Ledger) frameworkruntime.Registry {
	return frameworkruntime.Registry{
		lexicographicorder.Name: lexicographicorder.New,
		priorityoptimizer.Name: func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return priorityoptimizer.New(ctx, args, handle, nil)
		},
		reservations.Name: func(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return reservations.New(args, handle, ledger, true)
		},
		scorecache.Name: scorecache.New,
	}
}
