package devices

import (
	"math"
	"slices"
)

// The units of a device in which its content is planned, and the descent by which prices are found. An exact dual optimum
// gives no better scores: docs/explanation/device-score.md has the figures.
const (
	units        = 100
	descents     = 3200
	firstDescent = 0.3
	// What is worth something at first, beside the devices: all CPU and all memory of a node, in devices.
	cpuAtFirst, memoryAtFirst = 0.1, 0.05
)

// prices are what room on each kind of node is worth, in thousandths of a device. Without any, all is worth nothing.
type prices struct {
	// gaps are by kind of node, sort of device and hundredths that are free of it.
	gaps [][][]float64
	// cpu and memory are those of a thousandth of a core and of a byte, by kind of node.
	cpu, memory []float64
}

func (p *prices) gap(kind int, of device) float64 {
	if p.gaps == nil || p.gaps[kind][of.sort] == nil {
		return 0
	}
	return p.gaps[kind][of.sort][of.free*units/whole]
}

// plain is what the CPU and the memory are worth that a pod takes.
func (p *prices) plain(kind int, pod *need) float64 {
	if p.cpu == nil {
		return 0
	}
	return p.cpu[kind]*float64(pod.cpu) + p.memory[kind]*float64(pod.memory)
}

// nodeKind is so many nodes that have the same when they are empty; devices are by sort.
type nodeKind struct {
	nodes       int
	cpu, memory int64
	devices     []int
}

// program is a linear program that places the largest common share of the pods of all classes. Pods are split among the
// kinds of nodes, whose CPU and memory are summed; what is taken of devices must fit into single ones. Its rows are those of
// one kind after the other: CPU, memory, and each size of each sort of device.
type program struct {
	kinds []nodeKind
	// sizes are what requests take of a device of each sort, in units, ascending; the last is a whole one. rows is the place
	// of the first among a kind's rows, and width the number of these.
	sizes [][]int
	rows  []int
	width int
	// cpuScale and memoryScale are those of a node.
	cpuScale, memoryScale float64
	// load is what all devices have, in thousandths.
	load float64
	ways [][]way
}

// way is how so many pods of a class, at a load of all devices, could be placed on a kind of node.
type way struct {
	pods        float64
	kind        int
	cpu, memory float64
	requests    []alternatives
}

// alternatives are the rows of the sizes of which a request takes one, so many times.
type alternatives struct {
	count float64
	rows  []int
}

// newProgram returns that for so many pods of each class; nil if they ask for no device that there is.
func newProgram(kinds []nodeKind, classes []need, counts []float64, sorts int) *program {
	made := &program{kinds: kinds, sizes: make([][]int, sorts), rows: make([]int, sorts), width: 2}
	for _, kind := range kinds {
		made.cpuScale += float64(kind.cpu) / float64(len(kinds))
		made.memoryScale += float64(kind.memory) / float64(len(kinds))
		for _, number := range kind.devices {
			made.load += float64(kind.nodes * number * whole)
		}
	}
	asked := 0.0
	for c := range classes {
		for _, one := range classes[c].requests {
			least := int64(math.MaxInt64)
			for sort, take := range one.take {
				if take >= 0 {
					made.sizes[sort], least = append(made.sizes[sort], unitsOf(take)), min(least, take)
				}
			}
			if least < math.MaxInt64 {
				asked += counts[c] * float64(one.count) * float64(least)
			}
		}
	}
	if asked == 0 || made.load == 0 || made.cpuScale == 0 || made.memoryScale == 0 {
		return nil
	}
	for sort := range made.sizes {
		sizes := append(made.sizes[sort], units)
		slices.Sort(sizes)
		made.sizes[sort] = slices.Compact(sizes)
		made.rows[sort] = made.width
		made.width += len(made.sizes[sort])
	}
	for c := range classes {
		made.ways = append(made.ways, made.waysOf(&classes[c], counts[c]*made.load/asked))
	}
	return made
}

func unitsOf(take int64) int { return int(max(1, (take*units+whole-1)/whole)) }

func (p *program) waysOf(class *need, pods float64) (found []way) {
	for k, kind := range p.kinds {
		one := way{pods: pods, kind: k, cpu: float64(class.cpu) / p.cpuScale, memory: float64(class.memory) / p.memoryScale}
		fits := class.cpu <= kind.cpu && class.memory <= kind.memory
		for _, request := range class.requests {
			some, offered := alternatives{count: float64(request.count)}, 0
			for sort, take := range request.take {
				if take >= 0 && kind.devices[sort] > 0 {
					offered += kind.devices[sort]
					at, _ := slices.BinarySearch(p.sizes[sort], unitsOf(take))
					some.rows = append(some.rows, p.rows[sort]+at)
				}
			}
			fits = fits && offered >= request.count
			one.requests = append(one.requests, some)
		}
		if fits {
			found = append(found, one)
		}
	}
	return found
}

// cheapest is the way that costs least at these prices, what a pod costs by it, and the row of each of its requests.
func (p *program) cheapest(ways []way, at []float64, rows []int) (best *way, least float64, chosen []int) {
	least = math.Inf(1)
	for i := range ways {
		of, prices := &ways[i], at[ways[i].kind*p.width:]
		cost := of.cpu*prices[0] + of.memory*prices[1]
		for _, one := range of.requests {
			cheapest := math.Inf(1)
			for _, row := range one.rows {
				cheapest = min(cheapest, prices[row])
			}
			cost += one.count * cheapest
		}
		if cost < least {
			best, least = of, cost
		}
	}
	if best == nil {
		return nil, 0, nil
	}
	prices := at[best.kind*p.width:]
	for _, one := range best.requests {
		row := one.rows[0]
		for _, other := range one.rows[1:] {
			if prices[other] < prices[row] {
				row = other
			}
		}
		rows = append(rows, row)
	}
	return best, least, rows
}

// fill returns the most that sizes of a device are worth in each number of its units, and how many of each size the best
// content of a whole one has.
func fill(sizes []int, worth, most []float64, last, content []int) {
	most[0] = 0
	for free := 1; free <= units; free++ {
		most[free], last[free] = most[free-1], -1
		for s, size := range sizes {
			if size <= free && most[free-size]+worth[s] > most[free] {
				most[free], last[free] = most[free-size]+worth[s], s
			}
		}
	}
	clear(content)
	for free := units; free > 0; {
		if s := last[free]; s >= 0 {
			content[s]++
			free -= sizes[s]
		} else {
			free--
		}
	}
}

// evaluation is what all room costs at some prices, and what the pods at a load of all devices do; with the slopes of both.
type evaluation struct {
	room, pods           float64
	roomSlope, podsSlope []float64
	most                 []float64
	last, content, rows  []int
}

func (p *program) newEvaluation() *evaluation {
	number := p.width * len(p.kinds)
	return &evaluation{roomSlope: make([]float64, number), podsSlope: make([]float64, number), most: make([]float64, units+1),
		last: make([]int, units+1), content: make([]int, p.width)}
}

func (p *program) evaluate(at []float64, into *evaluation) {
	into.room, into.pods = 0, 0
	clear(into.roomSlope)
	clear(into.podsSlope)
	for k, kind := range p.kinds {
		prices, slope, nodes := at[k*p.width:], into.roomSlope[k*p.width:], float64(kind.nodes)
		slope[0], slope[1] = nodes*float64(kind.cpu)/p.cpuScale, nodes*float64(kind.memory)/p.memoryScale
		into.room += slope[0]*prices[0] + slope[1]*prices[1]
		for sort, number := range kind.devices {
			if number == 0 {
				continue
			}
			sizes, first := p.sizes[sort], p.rows[sort]
			content := into.content[:len(sizes)]
			fill(sizes, prices[first:first+len(sizes)], into.most, into.last, content)
			into.room += nodes * float64(number) * into.most[units]
			for s, count := range content {
				slope[first+s] = nodes * float64(number*count)
			}
		}
	}
	for _, ways := range p.ways {
		best, cost, rows := p.cheapest(ways, at, into.rows[:0])
		if best == nil {
			continue
		}
		into.pods += best.pods * cost
		slope := into.podsSlope[best.kind*p.width:]
		slope[0] += best.pods * best.cpu
		slope[1] += best.pods * best.memory
		for i, row := range rows {
			slope[row] += best.pods * best.requests[i].count
		}
		into.rows = rows
	}
}

// descend returns prices near those at which all room costs least in relation to the pods: the dual of the program, by the
// projected subgradient method, averaged over the second half of its steps.
func (p *program) descend() []float64 {
	at, mean := p.start(), make([]float64, p.width*len(p.kinds))
	now, slope := p.newEvaluation(), make([]float64, len(at))
	for t := range descents {
		p.evaluate(at, now)
		if now.pods == 0 || now.room == 0 {
			return at
		}
		steep := 0.0
		for i := range slope {
			slope[i] = now.roomSlope[i]/now.room - now.podsSlope[i]/now.pods
			steep += slope[i] * slope[i]
		}
		if steep == 0 {
			return at
		}
		// Prices matter in relation to one another alone.
		sum, length := total(at), 0.0
		for i := range at {
			at[i] *= float64(len(p.kinds)) / sum
			length += at[i] * at[i]
		}
		far := firstDescent / math.Sqrt(float64(1+t)) * math.Sqrt(length) / math.Sqrt(steep)
		for i := range at {
			at[i] = max(0, at[i]-far*slope[i])
		}
		if t >= descents/2 {
			for i, sum := 0, total(at); i < len(at); i++ {
				mean[i] += at[i] / sum
			}
		}
	}
	return mean
}

// start are prices at which a part of a device is worth as much of it.
func (p *program) start() []float64 {
	at := make([]float64, p.width*len(p.kinds))
	for k, kind := range p.kinds {
		of := at[k*p.width:]
		of[0], of[1] = cpuAtFirst, memoryAtFirst
		for sort, sizes := range p.sizes {
			for s, size := range sizes {
				if kind.devices[sort] > 0 {
					of[p.rows[sort]+s] = float64(size) / units
				}
			}
		}
	}
	return at
}

func total(of []float64) (sum float64) {
	for _, one := range of {
		sum += one
	}
	return sum
}

// pricesOf are those of a program; none of nil. The pods at a load of all devices cost as much as these.
func pricesOf(p *program) prices {
	if p == nil {
		return prices{}
	}
	at, now := p.descend(), p.newEvaluation()
	p.evaluate(at, now)
	if now.pods == 0 {
		return prices{}
	}
	scale := p.load / now.pods
	made := prices{gaps: make([][][]float64, len(p.kinds)), cpu: make([]float64, len(p.kinds)), memory: make([]float64, len(p.kinds))}
	for k, kind := range p.kinds {
		of := at[k*p.width:]
		made.cpu[k], made.memory[k] = of[0]*scale/p.cpuScale, of[1]*scale/p.memoryScale
		made.gaps[k] = make([][]float64, len(p.sizes))
		for sort, sizes := range p.sizes {
			if kind.devices[sort] == 0 {
				continue
			}
			most, first := make([]float64, units+1), p.rows[sort]
			fill(sizes, of[first:first+len(sizes)], most, now.last, now.content[:len(sizes)])
			for free := range most {
				most[free] *= scale
			}
			made.gaps[k][sort] = most
		}
	}
	return made
}
