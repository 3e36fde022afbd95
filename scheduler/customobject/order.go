package customobject

import (
	"cmp"
	"strings"
	"time"
)

// dated is an object that knows its age.
type dated interface {
	Name() string
	Created() time.Time
}

// OldestFirst orders objects by their age, and those of the same age by name.
func OldestFirst[O dated](a, b O) int {
	return cmp.Or(a.Created().Compare(b.Created()), strings.Compare(a.Name(), b.Name()))
}
