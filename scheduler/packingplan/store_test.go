package packingplan_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// created is a plan in a store, with the store's client.
func created(ctx context.Context, t *testing.T) (*dynamicfake.FakeDynamicClient, *packingplan.Store, *packingplan.Record) {
	t.Helper()
	client := testobjects.CustomClient()
	store := packingplan.NewStore(client)
	record := testobjects.Value(store.Create(ctx, packingplan.Spec{ExecutionMode: packingplan.Execute}))(t)
	return client, store, record
}

// Only the scheduler writes the status: a user's abort must neither keep the scheduler from writing the progress, nor be
// undone by that write.
func TestStatusIsWrittenBesideAUsersChange(t *testing.T) {
	ctx := context.Background()
	client, store, record := created(ctx, t)
	client.PrependReactor("update", "packingplans", changing(t, client.Tracker(), record.Name(), true, "spec", "abort"))

	record.Status.Phase = packingplan.Executing
	testobjects.Must(t, store.WriteStatus(ctx, record))

	object := testobjects.Value(client.Resource(packingplan.Resource).Get(ctx, record.Name(), metav1.GetOptions{}))(t)
	written := testobjects.Value(packingplan.Read(object))(t)
	if written.Status.Phase != packingplan.Executing || !written.Spec.Abort {
		t.Errorf("phase %q, abort %t", written.Status.Phase, written.Spec.Abort)
	}
}

// changing has somebody else set a field of the object just before the first update, which then conflicts.
func changing(t *testing.T, tracker clienttesting.ObjectTracker, name string, to any, field ...string) clienttesting.ReactionFunc {
	changed := false
	return func(clienttesting.Action) (bool, runtime.Object, error) {
		if changed {
			return false, nil, nil
		}
		changed = true
		found := testobjects.Value(tracker.Get(packingplan.Resource, "", name))(t)
		object := found.DeepCopyObject().(*unstructured.Unstructured)
		testobjects.Must(t, unstructured.SetNestedField(object.Object, to, field...))
		testobjects.Must(t, tracker.Update(packingplan.Resource, object, ""))
		return true, nil, apierrors.NewConflict(packingplan.Resource.GroupResource(), name, errors.New("it has changed"))
	}
}

// A process that was stopped continues with an outdated status: it must not overwrite what its successor has written.
func TestStatusOfAnotherProcessIsNotWrittenOver(t *testing.T) {
	ctx := context.Background()
	client, store, record := created(ctx, t)
	client.PrependReactor("update", "packingplans", changing(t, client.Tracker(), record.Name(), "another", "status", "writer"))

	record.Status.Phase = packingplan.Executing
	err := store.WriteStatus(ctx, record)

	var overtaken *packingplan.OvertakenError
	if !errors.As(err, &overtaken) {
		t.Errorf("the error is %v", err)
	}
}

// An API server that fails may have stored a status without answering. To take that status for another process's would
// leave a plan open for ever.
func TestStatusWhoseAnswerWasLostIsItsOwn(t *testing.T) {
	ctx := context.Background()
	client, store, record := created(ctx, t)
	client.PrependReactor("update", "packingplans", storingUnanswered(t, client.Tracker(), record.Name()))
	record.Status.Phase, record.Status.Writer = packingplan.Executing, "me"

	lost := store.WriteStatus(ctx, record)
	record.Status.Phase = packingplan.Completed
	err := store.WriteStatus(ctx, record)

	if lost == nil || err != nil {
		t.Errorf("first %v, then %v", lost, err)
	}
}

// storingUnanswered fails after the first update has been stored, so that the second one conflicts.
func storingUnanswered(t *testing.T, tracker clienttesting.ObjectTracker, name string) clienttesting.ReactionFunc {
	updates := 0
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		updates++
		switch updates {
		case 1:
			testobjects.Must(t, tracker.Update(packingplan.Resource, action.(clienttesting.UpdateAction).GetObject(), ""))
			return true, nil, errors.New("connection reset by peer")
		case 2:
			return true, nil, apierrors.NewConflict(packingplan.Resource.GroupResource(), name, errors.New("it has changed"))
		}
		return false, nil, nil
	}
}

// The API server refuses an event whose note has more than 1,024 bytes, and whoever looks for the reason finds none.
func TestShortenedTextFitsIntoAnEvent(t *testing.T) {
	const limit = 1024
	for name, text := range map[string]string{
		"short": "why", "at the limit": strings.Repeat("x", limit), "long": strings.Repeat("x", limit+1),
		"wide characters": "x" + strings.Repeat("é", limit),
	} {
		t.Run(name, func(t *testing.T) {
			shortened := packingplan.Shortened(text)

			if len(shortened) > limit || !utf8.ValidString(shortened) {
				t.Errorf("%d bytes, valid: %t", len(shortened), utf8.ValidString(shortened))
			}
			if len(text) <= limit && shortened != text {
				t.Errorf("was changed to %q", shortened)
			}
		})
	}
}
