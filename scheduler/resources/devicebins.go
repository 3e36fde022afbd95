package resources

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
)

const (
	// mostSlots is of how many capacities and counters of a node the optimiser keeps account.
	mostSlots = 512
	// largestAmount is the most that the optimiser takes.
	largestAmount = 1 << 53
	// wholeDevice is the capacity of a device that pods do not share.
	wholeDevice = "device"
)

// bins are the devices that pods share or that overlap, so that sums do not tell what fits.
type bins struct {
	// asks are those for such devices.
	asks  sets.Set[string]
	takes map[string][]*contract.DeviceTake
	// parts are those of a device that the asks take at least.
	parts map[string]float64
	nodes map[string]*nodeBins
}

// nodeBins are those of a node.
type nodeBins struct {
	layout *layout
	// devices are those of the layout.
	devices []deviceID
}

// layout is common to all nodes with such devices.
type layout struct {
	message *contract.DeviceLayout
	// milli says of which devices the amounts are thousandths.
	milli []bool
}

func (b *bins) count(ask string) bool { return b != nil && b.asks.Has(ask) }

// bins says whether such devices are counted.
func (c *Catalogue) bins() bool { return c.judge.countsBins }

// binAsks are the asks that need bins: of those that may have the same devices, all, if such a device is shared or a partition,
// if one asks for some of a device or is an alternative, or if two overlap and none has all that the other has, so that the
// order in which pods come decides what fits.
func (c *Catalogue) binAsks(now *state) sets.Set[string] {
	bits, masks, odd := map[string]int{}, sets.New[asksMask](), asksMask{}
	for name, one := range now.asks {
		if one.extended == "" || one.matched {
			bits[name] = one.bit
		}
	}
	for _, of := range now.nodes {
		masks.Insert(slices.Collect(maps.Keys(of))...)
	}
	for i := range c.offers {
		if one := &c.offers[i]; one.unlike == "" && (one.face.shared || one.consumes != nil) {
			odd = odd.with(now.devices[one.id()])
		}
	}
	var joined [][]dimension
	for _, group := range groupsOf(bits, masks.UnsortedList()) {
		joined = slices.DeleteFunc(joined, func(other []dimension) bool {
			tied := slices.ContainsFunc(other, func(a dimension) bool {
				return slices.ContainsFunc(group, func(b dimension) bool { return now.asks[a.name].alternatives.Has(b.name) })
			})
			if tied {
				group = slices.Concat(group, other)
			}
			return tied
		})
		joined = append(joined, group)
	}
	found := sets.New[string]()
	for _, group := range joined {
		if slices.ContainsFunc(group, func(one dimension) bool {
			of := now.asks[one.name]
			return of.capacity != nil || len(of.alternatives) > 0 || one.asks.meets(odd) || slices.ContainsFunc(group, one.crosses)
		}) {
			for _, one := range group {
				found.Insert(one.name)
			}
		}
	}
	return found
}

// crosses says that some devices are of both, and that each has some that the other has not.
func (d dimension) crosses(other dimension) bool {
	return d.meets(other) && !d.within(other) && !other.within(d)
}

// binsOf are the bins of a state of which all else is known; reasons are those for which asks are refused.
func (c *Catalogue) binsOf(now *state, reasons map[string]sets.Set[string]) *bins {
	made := &bins{asks: c.binAsks(now), takes: map[string][]*contract.DeviceTake{}, nodes: map[string]*nodeBins{}}
	maker := &layoutMaker{judge: c.judge, bins: made, now: now, reasons: reasons, kinds: map[kindKey]*kind{},
		layouts: map[string]*layout{}, ids: map[any]uint64{}}
	for name := range made.asks {
		one := now.asks[name]
		maker.asks = append(maker.asks, one)
		maker.mask = maker.mask.with(maskOf(one.bit))
		if one.extended != "" && c.listing.Has(one.extended) {
			reasons[name].Insert(listedByDevicePlugin)
		}
	}
	slices.SortFunc(maker.asks, func(a, b *knownAsk) int { return cmp.Compare(a.name, b.name) })
	for start := 0; start < len(c.offers) && len(made.asks) > 0; {
		end := start
		for end < len(c.offers) && c.offers[end].node == c.offers[start].node {
			end++
		}
		if c.offers[start].node != "" {
			maker.add(c.offers[start:end])
		}
		start = end
	}
	made.parts = partsOf(made.takes, maker.layouts)
	for _, takes := range made.takes {
		slices.SortFunc(takes, func(a, b *contract.DeviceTake) int { return cmp.Compare(a.DeviceKind, b.DeviceKind) })
	}
	return made
}
