package reservation_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/reservation"
)

// Selectors are ANDed inside an owner and ORed between owners (seed 001), and an empty owner selects no pods.
func TestOwnersAreAlternativesOfWhichAllPartsMustHold(t *testing.T) {
	pod := podOf("a", "p", "1", 0)
	object := func(namespace, name, uid string) *v1.ObjectReference {
		return &v1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(uid)}
	}
	controller := func(namespace, name, uid string) *reservation.ControllerReference {
		return &reservation.ControllerReference{Namespace: namespace,
			OwnerReference: metav1.OwnerReference{Kind: "ReplicaSet", Name: name, UID: types.UID(uid)}}
	}
	labels := func(app string) *metav1.LabelSelector {
		return metav1.SetAsLabelSelector(map[string]string{"app": app})
	}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	cases := map[string]struct {
		owners []reservation.Owner
		want   bool
	}{
		"no owner":                     {nil, false},
		"an owner that names nothing":  {[]reservation.Owner{{}}, false},
		"the pod":                      {[]reservation.Owner{{Object: object("ns", "p", "p")}}, true},
		"the pod by name":              {[]reservation.Owner{{Object: object("ns", "p", "")}}, true},
		"a namesake":                   {[]reservation.Owner{{Object: object("ns", "p", "other")}}, false},
		"one of another namespace":     {[]reservation.Owner{{Object: object("elsewhere", "p", "")}}, false},
		"a namespace alone":            {[]reservation.Owner{{Object: object("ns", "", "")}}, false},
		"another kind":                 {[]reservation.Owner{{Object: &v1.ObjectReference{Kind: "Node", Name: "p"}}}, false},
		"its controller":               {[]reservation.Owner{{Controller: controller("ns", "a", "rs-a")}}, true},
		"its controller anywhere":      {[]reservation.Owner{{Controller: controller("", "a", "")}}, true},
		"another controller":           {[]reservation.Owner{{Controller: controller("ns", "b", "")}}, false},
		"a controller elsewhere":       {[]reservation.Owner{{Controller: controller("elsewhere", "a", "")}}, false},
		"a controller without a name":  {[]reservation.Owner{{Controller: controller("ns", "", "")}}, false},
		"its labels in its namespace":  {[]reservation.Owner{{Object: object("ns", "", ""), LabelSelector: labels("a")}}, true},
		"its labels elsewhere":         {[]reservation.Owner{{Object: object("elsewhere", "", ""), LabelSelector: labels("a")}}, false},
		"its labels and a controller":  {[]reservation.Owner{{Controller: controller("ns", "", ""), LabelSelector: labels("a")}}, true},
		"its labels, a foreign one":    {[]reservation.Owner{{Controller: controller("elsewhere", "", ""), LabelSelector: labels("a")}}, false},
		"other labels, its namespace":  {[]reservation.Owner{{Object: object("ns", "", ""), LabelSelector: labels("b")}}, false},
		"its labels":                   {[]reservation.Owner{{LabelSelector: labels("a")}}, true},
		"other labels":                 {[]reservation.Owner{{LabelSelector: labels("b")}}, false},
		"labels that cannot be read":   {[]reservation.Owner{{LabelSelector: broken}}, false},
		"both parts hold":              {[]reservation.Owner{{Controller: controller("", "a", ""), LabelSelector: labels("a")}}, true},
		"one part does not hold":       {[]reservation.Owner{{Controller: controller("", "a", ""), LabelSelector: labels("b")}}, false},
		"one of two alternatives does": {[]reservation.Owner{{LabelSelector: labels("b")}, {Object: object("ns", "p", "")}}, true},
	}
	for name, c := range cases {
		room, ledger := reserved(t, "room", "n1", "2", "a"), reservation.NewLedger()
		room.Spec.Owners = c.owners
		ledger.Put(room)
		if got := len(ledger.For(pod, false).Offers) > 0; got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// Labels are written by tenants. An owner that is narrowed to a namespace is none elsewhere, and is still found.
func TestLabelsOfAnOwnerCanBeBoundToANamespace(t *testing.T) {
	room := reserved(t, "room", "n1", "2", "web")
	room.Spec.Owners = []reservation.Owner{{Object: &v1.ObjectReference{Namespace: "ns"},
		LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": "web"})}}
	ledger := reservation.NewLedger()
	ledger.Put(room)
	owner, stranger := podOf("web", "p", "1", 0), podOf("web", "q", "1", 0)
	stranger.Namespace = "elsewhere"

	ours, theirs := ledger.For(owner, false).Offers["n1"], ledger.For(stranger, false).Offers["n1"]

	if len(ours) != 1 || len(theirs) != 0 {
		t.Errorf("offers %v to the owner, %v to a pod with its labels in another namespace", ours, theirs)
	}
	if held, _ := ledger.For(stranger, false).Held("n1"); held.Of(v1.ResourceCPU) != 2000 {
		t.Errorf("%d held against it, want 2000", held.Of(v1.ResourceCPU))
	}
}
