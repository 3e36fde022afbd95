package reservation_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/reservation"
)

// overtaken is a store whose objects are always changed just before a write, and the calls to the API.
func overtaken(t *testing.T) (store *reservation.Store, record *reservation.Record, calls func() []clienttesting.Action) {
	t.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{reservation.Resource: reservation.Kind + "List"})
	conflict := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(reservation.Resource.GroupResource(), "r", errors.New("it has changed"))
	}
	client.PrependReactor("update", "reservations", conflict)
	client.PrependReactor("delete", "reservations", conflict)
	return reservation.NewStore(client), reserved(t, "r", "n1", "1", "a"), client.Actions
}

// A status is computed from the object as it was seen: if the object has changed, the controller has to sync again.
func TestStatusOfAReservationThatHasChangedIsNotWritten(t *testing.T) {
	store, record, calls := overtaken(t)

	err := store.WriteStatus(context.Background(), record)

	if !apierrors.IsConflict(err) || len(calls()) != 1 {
		t.Errorf("%v after %d calls, want a conflict after one", err, len(calls()))
	}
}

// By the time a reservation is collected, another one may have its name.
func TestReservationWithTheNameOfACollectedOneIsNotDeleted(t *testing.T) {
	store, record, calls := overtaken(t)

	if err := store.Delete(context.Background(), record); err != nil {
		t.Errorf("%v, want a namesake to be left alone", err)
	}

	options := calls()[0].(clienttesting.DeleteActionImpl).DeleteOptions
	if options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID != record.UID() {
		t.Errorf("deleted with %+v, want its UID as precondition", options)
	}
}
