//go:build !k8s136

// Another minor holds other objects legal, and then draws others.

package oddobjects_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

var update = flag.Bool("update", false, "write the chosen objects anew")

// chosenFile has objects for live clusters, one a line; benchmarks/faults/odd_objects.py puts them there.
const chosenFile = "../../benchmarks/faults/odd_objects.jsonl"

const (
	podsAnOddity    = 6
	nodesAndBudgets = 12
	// oddityAnnotation says what is odd about a pod.
	oddityAnnotation = "stowage.dev/oddity"
)

// What a real API server gets is what the generator makes:
//
//	go test ./oddobjects -run Chosen -update
func TestChosenObjectsAreThoseOfTheGenerator(t *testing.T) {
	made := chosen(t)
	if *update {
		testobjects.Must(t, os.WriteFile(chosenFile, made, 0o644))
	}
	kept := testobjects.Value(os.ReadFile(chosenFile))(t)
	if !bytes.Equal(kept, made) {
		t.Errorf("%s is not what the generator makes; go test ./oddobjects -run Chosen -update", chosenFile)
	}
}

func chosen(t *testing.T) []byte {
	t.Helper()
	g, refused := generator{rand.New(rand.NewPCG(1, 1))}, newCount()
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	isWritten := func(object runtime.Object) bool {
		legal := len(keepLegal(nil, object, refused)) == 1
		if legal {
			testobjects.Must(t, lines.Encode(object))
		}
		return legal
	}
	done := sets.New[string]()
	for _, one := range oddities {
		for written := 0; written < podsAnOddity && !done.Has(one.name); {
			pod := g.plainPod(done.Len()*podsAnOddity+written, "")
			one.add(g, pod)
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, oddityAnnotation, one.name)
			pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
			if isWritten(pod) {
				written++
			}
		}
		done.Insert(one.name)
	}
	for written := 0; written < nodesAndBudgets; {
		node := g.node(written)
		g.addOddity(node)
		node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		if isWritten(node) {
			written++
		}
	}
	for written := 0; written < nodesAndBudgets; {
		budget := g.budget(written)
		budget.TypeMeta = metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}
		if isWritten(budget) {
			written++
		}
	}
	return text.Bytes()
}
