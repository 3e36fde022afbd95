package resources

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// fleet is the devices of a node by their masks, and what pods ask of it, by ask.
type fleet struct {
	devices []asksMask
	counts  map[string]int64
	bits    map[string]int
}

// admits says whether the pods fit in every dimension of the family.
func (f fleet) admits(by family) bool {
	free, taken := make([]int64, len(by.dimensions)), make([]int64, len(by.dimensions))
	for _, mask := range f.devices {
		by.count(free, mask, 1)
	}
	for ask, count := range f.counts {
		by.take(taken, ask, count)
	}
	for i, amount := range taken {
		if amount > free[i] {
			return false
		}
	}
	return true
}

// matches says whether each ask can have devices of its own, by augmenting paths.
func (f fleet) matches() bool {
	holder := make([]string, len(f.devices))
	var give func(ask string, seen []bool) bool
	give = func(ask string, seen []bool) bool {
		for i, mask := range f.devices {
			if mask.has(f.bits[ask]) && !seen[i] {
				seen[i] = true
				if holder[i] == "" || give(holder[i], seen) {
					holder[i] = ask
					return true
				}
			}
		}
		return false
	}
	for ask, count := range f.counts {
		for range count {
			if !give(ask, make([]bool, len(f.devices))) {
				return false
			}
		}
	}
	return true
}

// Too strict, and a plan leaves pods waiting that fit; too lax, and it promises one device to two.
func TestDimensionsAdmitExactlyWhatAMatchingAdmits(t *testing.T) {
	random, admitted := rand.New(rand.NewPCG(1, 2)), 0
	for range 20000 {
		asks := 1 + random.IntN(4)
		node := fleet{counts: map[string]int64{}, bits: map[string]int{}}
		for bit := range asks {
			node.bits[fmt.Sprint("ask-", bit)] = bit
			node.counts[fmt.Sprint("ask-", bit)] = random.Int64N(4)
		}
		for range 1 + random.IntN(8) {
			var mask asksMask
			mask[0] = random.Uint64N(1 << asks)
			node.devices = append(node.devices, mask)
		}
		// The family is that of a cluster in which other nodes have other devices.
		kinds := slices.Clone(node.devices)
		for range random.IntN(3) {
			var mask asksMask
			mask[0] = random.Uint64N(1 << asks)
			kinds = append(kinds, mask)
		}
		want := node.matches()
		if want {
			admitted++
		}
		if got := node.admits(familyOf(node.bits, kinds, family{})); got != want {
			t.Fatalf("%+v: admitted %t, want %t", node, got, want)
		}
	}
	if admitted < 4000 || admitted > 16000 {
		t.Errorf("%d of 20000 nodes fit: too few of one kind to tell anything", admitted)
	}
}

// A plan under way holds room by these names, and a restarted process must find the same.
func TestNamesOfDimensionsDoNotDependOnWhatElseIsAsked(t *testing.T) {
	bits := map[string]int{"a": 7, "b": 3}
	kinds := []asksMask{maskOf(7), maskOf(7, 3), maskOf(3)}
	alone := familyOf(bits, kinds, family{})
	if got := namesOf(alone); !slices.Equal(got, []string{"a", "b", "a+b"}) {
		t.Fatalf("dimensions %v", got)
	}

	// The devices of "a+c" are those of "a+b".
	more := familyOf(map[string]int{"a": 7, "b": 3, "Z": 9}, []asksMask{maskOf(7), maskOf(7, 3, 9), maskOf(3, 9)}, alone)
	for _, name := range namesOf(alone) {
		if !slices.Contains(namesOf(more), name) {
			t.Errorf("with another ask, %q is not among %v", name, namesOf(more))
		}
	}
}

// Every node and every class of a snapshot carries them.
func TestWhatNeedsTooManyDimensionsIsRefusedAndNothingElse(t *testing.T) {
	bits, kinds := map[string]int{"alone": 200, "nested": 201}, []asksMask{maskOf(200), maskOf(200, 201)}
	for bit := range 8 { // each two overlap, so that all 255 unions differ
		bits[fmt.Sprint("tangled-", bit)] = bit
		kinds = append(kinds, maskOf(bit))
		for other := range bit {
			kinds = append(kinds, maskOf(bit, other))
		}
	}

	made := familyOf(bits, kinds, family{})

	if len(made.dimensions) > maxDimensions || !made.refused["tangled-3"] || made.refused["alone"] || made.refused["nested"] {
		t.Errorf("%d dimensions, refused %v", len(made.dimensions), made.refused)
	}
	if got := namesOf(made); !slices.Equal(got, []string{"alone", "nested"}) {
		t.Errorf("dimensions %v", got)
	}
}

func namesOf(of family) (names []string) {
	for _, one := range of.dimensions {
		names = append(names, one.name)
	}
	return names
}
