package packingplan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// A plan's name may be longer than a label or a taint may be, and two long names must not look the same there.
func TestPlansAreToldApartOnNodes(t *testing.T) {
	long := strings.Repeat("a", 252)
	one, other := NameOnNodes(long+"b"), NameOnNodes(long+"c")

	if one == other || len(validation.IsValidLabelValue(one)) != 0 || NameOnNodes("fewer") != "fewer" {
		t.Errorf("%q and %q", one, other)
	}
}
