package packingplan

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"

	"github.com/stowage/stowage/scheduler/customobject"
)

// suffixLength makes a clash of two plans' names as good as impossible.
const suffixLength = 8

// Store writes PackingPlan objects.
type Store struct {
	customobject.Store[Spec, Status]
	// Suffix makes the name of a new object differ from all others; by default it is random.
	Suffix func(length int) string
}

// NewStore writes through the client.
func NewStore(client dynamic.Interface) *Store {
	return &Store{customobject.NewStore[Spec, Status](objectType, client), rand.String}
}

// Create makes an object for a solve of the scheduler's own.
func (s *Store) Create(ctx context.Context, spec Spec) (*Record, error) {
	created, err := s.Store.Create(ctx, metav1.ObjectMeta{
		Name:   "plan-" + s.Suffix(suffixLength),
		Labels: map[string]string{CreatedByLabel: CreatedByValue},
	}, spec)
	if err != nil {
		return nil, err
	}
	return Read(created)
}

// CreateNamed makes an object that another controller asks for. One that is there already is returned as it is, unless
// it has been asked for by somebody else: then the error is that of the API server.
func (s *Store) CreateNamed(ctx context.Context, metadata metav1.ObjectMeta, spec Spec) (*Record, error) {
	object, err := s.Store.Create(ctx, metadata, spec)
	if apierrors.IsAlreadyExists(err) {
		found, getErr := s.Get(ctx, metadata.Name)
		if getErr != nil {
			return nil, getErr
		}
		if !maps.Equal(found.GetAnnotations(), metadata.Annotations) {
			return nil, err
		}
		object, err = found, nil
	}
	if err != nil {
		return nil, err
	}
	return Read(object)
}

// Abort asks for the end of a plan, whoever carries it out. One that is gone already is fine.
func (s *Store) Abort(ctx context.Context, name string) error {
	return s.MergeSpec(ctx, name, map[string]any{"abort": true})
}

// OvertakenError says that another process has written the plan's status.
type OvertakenError struct{ Plan string }

func (e *OvertakenError) Error() string {
	return fmt.Sprintf("another process has taken over plan %s", e.Plan)
}

// WriteStatus writes the record's status. Other changes to the object are read and kept. Only one process may write the
// status: if another one has, the error is an *OvertakenError.
func (s *Store) WriteStatus(ctx context.Context, record *Record) error {
	record.Status = *record.Status.Stored()
	defer func() { record.Status.Lists = Lists{} }()
	err := s.Store.WriteStatus(ctx, &record.Object)
	if !apierrors.IsConflict(err) {
		return err
	}
	before, now, err := s.Refresh(ctx, &record.Object)
	if err != nil {
		return err
	}
	// The writer may be this process itself, if the answer to its last write was lost.
	if now.Writer != before.Writer && now.Writer != record.Status.Writer {
		return &OvertakenError{record.Name()}
	}
	return s.Store.WriteStatus(ctx, &record.Object)
}
