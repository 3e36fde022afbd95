package resources

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
)

const (
	// maxAsks is how many different asks are told apart.
	maxAsks = 256
	// maxDimensions bounds what each node and class of a snapshot carries.
	maxDimensions = 48
)

// asksMask is a set of asks by their bits.
type asksMask [maxAsks / 64]uint64

func maskOf(bits ...int) (mask asksMask) {
	for _, bit := range bits {
		mask[bit/64] |= 1 << (bit % 64)
	}
	return mask
}

func (m asksMask) has(bit int) bool { return m[bit/64]>>(bit%64)&1 != 0 }

func (m asksMask) with(other asksMask) asksMask {
	for i := range m {
		m[i] |= other[i]
	}
	return m
}

func (m asksMask) without(other asksMask) asksMask {
	for i := range m {
		m[i] &^= other[i]
	}
	return m
}

func (m asksMask) meets(other asksMask) bool {
	for i := range m {
		if m[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// dimension is an amount of devices: those that serve at least one of its asks.
type dimension struct {
	// name depends on nothing but the asks.
	name string
	asks asksMask
	// of are the names of the asks, in order.
	of []string
	// kinds are the devices, by the places of their masks.
	kinds *big.Int
}

func newDimension(of []string, bits map[string]int, kinds []asksMask) dimension {
	made := dimension{of: of, name: strings.Join(of, "+"), kinds: new(big.Int)}
	if len(of) > 3 {
		made.name = of[0] + "+" + digestOf(made.name)
	}
	for _, name := range of {
		made.asks = made.asks.with(maskOf(bits[name]))
	}
	for i, kind := range kinds {
		if kind.meets(made.asks) {
			made.kinds.SetBit(made.kinds, i, 1)
		}
	}
	return made
}

func (d dimension) meets(other dimension) bool {
	return new(big.Int).And(d.kinds, other.kinds).Sign() != 0
}

func (d dimension) within(other dimension) bool {
	return new(big.Int).And(d.kinds, other.kinds).Cmp(d.kinds) == 0
}

// family is the dimensions in which devices are counted. Pods get their devices on a node if and only if they fit into it
// in every dimension (Hall's theorem): for that, the sets of devices that asks accept must be closed under union of those
// that overlap. Sets that are nested or disjoint need no union.
type family struct {
	dimensions []dimension
	// takes are the places of the dimensions in which a device for the ask counts.
	takes map[string][]int
	// refused are the asks that would need too many dimensions.
	refused map[string]bool
}

// familyOf returns the family of the asks, given their bits, where devices have these masks. Unions of an earlier family are
// kept, so that the amounts of a plan under way do not lose their names when another ask comes.
func familyOf(bits map[string]int, kinds []asksMask, before family) family {
	made := family{takes: map[string][]int{}, refused: map[string]bool{}}
	groups := groupsOf(bits, kinds)
	slices.SortStableFunc(groups, func(a, b []dimension) int { return cmp.Compare(len(a), len(b)) })
	for _, group := range groups {
		room := maxDimensions - len(made.dimensions)
		dimensions, enough := closed(slices.Concat(group, unionsOf(group, before, bits, kinds)), room)
		if !enough {
			dimensions, enough = closed(group, room)
		}
		for _, one := range group {
			made.refused[one.name] = !enough
		}
		if !enough {
			continue
		}
		for _, one := range group {
			for i, other := range dimensions {
				if one.kinds.Sign() == 0 && one.name == other.name || one.kinds.Sign() != 0 && one.within(other) {
					made.takes[one.name] = append(made.takes[one.name], len(made.dimensions)+i)
				}
			}
		}
		made.dimensions = append(made.dimensions, dimensions...)
	}
	return made
}

// groupsOf are the dimensions of single asks, in order; those that overlap, directly or through others, are in one group.
func groupsOf(bits map[string]int, kinds []asksMask) (groups [][]dimension) {
	for _, name := range slices.Sorted(maps.Keys(bits)) {
		joined := []dimension{newDimension([]string{name}, bits, kinds)}
		groups = slices.DeleteFunc(groups, func(group []dimension) bool {
			touches := slices.ContainsFunc(group, joined[len(joined)-1].meets)
			if touches {
				joined = slices.Concat(group, joined)
			}
			return touches
		})
		groups = append(groups, joined)
	}
	return groups
}

// unionsOf are the unions of an earlier family that are of this group alone.
func unionsOf(group []dimension, before family, bits map[string]int, kinds []asksMask) (unions []dimension) {
	for _, union := range before.dimensions {
		isOther := func(name string) bool {
			return !slices.ContainsFunc(group, func(one dimension) bool { return one.name == name })
		}
		if len(union.of) > 1 && !slices.ContainsFunc(union.of, isOther) {
			unions = append(unions, newDimension(union.of, bits, kinds))
		}
	}
	return unions
}

// closed adds the unions of those that overlap, unless that takes more room than there is.
func closed(dimensions []dimension, room int) ([]dimension, bool) {
	known := map[string]bool{}
	for _, one := range dimensions {
		known[one.kinds.Text(16)] = true
	}
	for i := 0; i < len(dimensions) && len(dimensions) <= room; i++ {
		for _, other := range dimensions[:i] {
			one := dimensions[i]
			kinds := new(big.Int).Or(one.kinds, other.kinds)
			if !one.meets(other) || one.within(other) || other.within(one) || known[kinds.Text(16)] {
				continue
			}
			known[kinds.Text(16)] = true
			of := slices.Compact(slices.Sorted(slices.Values(slices.Concat(one.of, other.of))))
			made := newDimension(of, nil, nil)
			made.asks, made.kinds = one.asks.with(other.asks), kinds
			dimensions = append(dimensions, made)
		}
	}
	return dimensions, len(dimensions) <= room
}

// count adds so many devices of a mask.
func (f family) count(amounts []int64, mask asksMask, count int64) {
	for i, one := range f.dimensions {
		if mask.meets(one.asks) {
			amounts[i] += count
		}
	}
}

// take adds so many devices for an ask.
func (f family) take(amounts []int64, ask string, count int64) {
	for _, i := range f.takes[ask] {
		amounts[i] += count
	}
}

// recounted is the amount of an earlier family in each dimension: the sum of the largest sets within it that the earlier one
// counted. These are disjoint, since the union of two that overlap was counted, too.
func (f family) recounted(before Vector) []int64 {
	amounts := make([]int64, len(f.dimensions))
	of := func(d dimension) int64 { return before.extended[DevicePrefix+d.name] }
	for i, into := range f.dimensions {
		if of(into) > 0 {
			amounts[i] = of(into)
			continue
		}
		var largest []dimension
		for _, one := range f.dimensions {
			if of(one) == 0 || one.kinds.Sign() == 0 || !one.within(into) || slices.ContainsFunc(largest, one.within) {
				continue
			}
			within := func(other dimension) bool { return other.within(one) }
			largest = append(slices.DeleteFunc(largest, within), one)
		}
		for _, one := range largest {
			amounts[i] = add(amounts[i], of(one))
		}
	}
	return amounts
}
