package devices

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// scored is what testbed/stowage_testbed/reproduce/fgd finds for a fleet and its pods; tests/builders/device_scores.py writes
// it. Nodes have GPUs of one model, which are a sort here.
type scored struct {
	Models int
	Kinds  [][4]int64
	Nodes  []struct {
		CPU, Memory       int64
		GPUs, Model, Kind int
	}
	Classes []struct {
		CPU, Memory, Milli int64
		GPUs, Models, Pods int
	}
	Prices struct {
		Gap         [][]float64
		CPU, Memory []float64
	}
	Fragments []struct {
		CPU    int64
		Model  int
		Free   []int64
		Amount float64
	}
	Arrivals, Placed []int
}

func scoredCases(t *testing.T) (cases []scored) {
	t.Helper()
	testobjects.Must(t, json.Unmarshal(testobjects.Value(os.ReadFile("testdata/scores.json"))(t), &cases))
	return cases
}

func (s *scored) classes() (classes []need, shares, pods []float64) {
	total := 0.0
	for _, one := range s.Classes {
		made := need{cpu: one.CPU, memory: one.Memory}
		if one.GPUs > 0 {
			asked := request{take: make([]int64, s.Models), count: one.GPUs}
			for model := range asked.take {
				asked.take[model] = -1
				if one.Models>>model&1 == 1 {
					asked.take[model] = one.Milli
				}
			}
			made.requests = []request{asked}
		}
		classes, pods, total = append(classes, made), append(pods, float64(one.Pods)), total+float64(one.Pods)
	}
	for _, one := range pods {
		shares = append(shares, one/total)
	}
	return classes, shares, pods
}

func (s *scored) program() *program {
	number := make([]int, len(s.Kinds))
	for _, node := range s.Nodes {
		number[node.Kind]++
	}
	var kinds []nodeKind
	for k, kind := range s.Kinds {
		made := nodeKind{nodes: number[k], cpu: kind[0], memory: kind[1], devices: make([]int, s.Models)}
		made.devices[kind[3]] = int(kind[2])
		kinds = append(kinds, made)
	}
	classes, _, pods := s.classes()
	return newProgram(kinds, classes, pods, s.Models)
}

// prices are those of the laboratory.
func (s *scored) prices() prices {
	made := prices{cpu: s.Prices.CPU, memory: s.Prices.Memory}
	for k, kind := range s.Kinds {
		gaps := make([][]float64, s.Models)
		gaps[kind[3]] = s.Prices.Gap[k]
		made.gaps = append(made.gaps, gaps)
	}
	return made
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

// TestFragmentsAreThoseOfTheLaboratory: the laboratory's rebuild the published figures of FGD.
func TestFragmentsAreThoseOfTheLaboratory(t *testing.T) {
	for _, one := range scoredCases(t) {
		classes, shares, _ := one.classes()
		shapes := shapesOf(classes, shares)
		for _, state := range one.Fragments {
			var devices []device
			for _, free := range state.Free {
				devices = append(devices, device{state.Model, free})
			}
			if got := fragment(state.CPU, devices, shapes); !near(got, state.Amount) {
				t.Errorf("%+v: %v", state, got)
			}
		}
	}
}

// sameWorth is half of what costs are rounded to. Where two ways cost the same, the last bit of a sum decides which way the
// descent goes on, so that Go's prices and those of the laboratory part by up to 4 thousandths here.
const sameWorth = step / 2

// TestPricesAreThoseOfTheLaboratory: those are compared with the duals of a linear program, which Go has not.
func TestPricesAreThoseOfTheLaboratory(t *testing.T) {
	for number, one := range scoredCases(t) {
		got := pricesOf(one.program())
		for k, kind := range one.Kinds {
			cores := (got.cpu[k] - one.Prices.CPU[k]) * float64(kind[0])
			if memory := (got.memory[k] - one.Prices.Memory[k]) * float64(kind[1]); math.Abs(cores) > sameWorth || math.Abs(memory) > sameWorth {
				t.Errorf("case %d, kind %d: all cores are worth %v more, all memory %v", number, k, cores, memory)
			}
			for free, want := range one.Prices.Gap[k] {
				gap := got.gap(k, device{int(kind[3]), int64(free * whole / units)})
				if math.Abs(gap-want) > sameWorth {
					t.Fatalf("case %d, kind %d: %d of a device are worth %v, not %v", number, k, free, gap, want)
				}
			}
		}
	}
}

// TestPodsArePlacedAsInTheLaboratory: each pod on the node that costs least, of equal ones the first.
func TestPodsArePlacedAsInTheLaboratory(t *testing.T) {
	for number, one := range scoredCases(t) {
		classes, shares, _ := one.classes()
		by := &model{shapes: shapesOf(classes, shares), prices: one.prices(), mostCPU: 128_000, mostDevices: 8 * whole}
		var rooms []room
		for _, node := range one.Nodes {
			made := room{kind: node.Kind, cpu: node.CPU, memory: node.Memory}
			for range node.GPUs {
				made.devices = append(made.devices, device{node.Model, whole})
			}
			rooms = append(rooms, made)
		}
		for i, c := range one.Arrivals {
			pod, best, least := &classes[c], -1, int64(math.MaxInt64)
			for n := range rooms {
				of := &rooms[n]
				if of.cpu < pod.cpu || of.memory < pod.memory {
					continue
				}
				if cost := steps(by.cost(of, by.value(of), pod, nil)); cost < least {
					best, least = n, cost
				}
			}
			if best != one.Placed[i] {
				t.Fatalf("case %d: pod %d of class %d comes to node %d, not %d", number, i, c, best, one.Placed[i])
			}
			if best >= 0 {
				rooms[best].cpu -= pod.cpu
				rooms[best].memory -= pod.memory
				put(rooms[best].devices, pod.requests)
			}
		}
	}
}

// gpus are devices of one sort, of which so much is free.
func gpus(free ...int64) (devices []device) {
	for _, one := range free {
		devices = append(devices, device{0, one})
	}
	return devices
}

// gpuPod needs cores and a share of each of so many devices.
func gpuPod(cores, count int, milli int64) need {
	made := need{cpu: int64(1000 * cores)}
	if count > 0 {
		made.requests = []request{{[]int64{milli}, count}}
	}
	return made
}

// TestFragmentsByHand: of 1,000 and 400 thousandths that are free, half of the pods take 500 of one device, a quarter two whole
// ones, and a quarter wants none, for whom all is waste.
func TestFragmentsByHand(t *testing.T) {
	shapes := shapesOf([]need{gpuPod(4, 1, 500), gpuPod(8, 2, whole), gpuPod(1, 0, 0)}, []float64{0.5, 0.25, 0.25})
	for text, c := range map[string]struct {
		cpu     int64
		devices []device
		want    float64
	}{
		"shares cannot use the second device": {8000, gpus(1000, 400), 0.5*400 + 0.5*1400},
		"no share fits beside so little CPU":  {3000, gpus(1000, 400), 1400},
		"both are whole":                      {8000, gpus(1000, 1000), 0.25 * 2000},
		"nothing is free":                     {8000, gpus(0, 0), 0},
		"there are no devices":                {8000, nil, 0},
	} {
		if got := fragment(c.cpu, c.devices, shapes); !near(got, c.want) {
			t.Errorf("%s: %v, should be %v", text, got, c.want)
		}
	}
}

// TestDevicesAreTakenAsTheAllocatorTakesThem: the first that fit, each once in a request, requests in their order.
func TestDevicesAreTakenAsTheAllocatorTakesThem(t *testing.T) {
	devices := gpus(300, 1000, 500, 1000)
	taken, left, fits := put(devices, []request{{[]int64{400}, 2}, {[]int64{500}, 1}})
	if !fits || taken != 1300 || devices[1].free != 100 || devices[2].free != 100 || devices[3].free != whole || left != 800 {
		t.Errorf("%v: took %d, leaves %d", devices, taken, left)
	}
	if _, _, fits := put(gpus(1000, 400), []request{{[]int64{500}, 2}}); fits {
		t.Error("one device is given twice")
	}
	if _, _, fits := put([]device{{1, 1000}}, []request{{[]int64{500, -1}, 1}}); fits {
		t.Error("a device is given that does not serve the request")
	}
}

// TestPricesByHand: two of 500 fill a device, and of 600 only one fits, after which nothing is worth anything. As in the
// laboratory's test of the linear program, within a fiftieth.
func TestPricesByHand(t *testing.T) {
	for _, c := range []struct {
		milli       int64
		most, whole float64
		worthless   int64
	}{{500, 500, 1000, 490}, {600, 600, 600, 590}} {
		kinds := []nodeKind{{nodes: 2, cpu: 64_000, memory: 1 << 38, devices: []int{5}}}
		got := pricesOf(newProgram(kinds, []need{gpuPod(1, 1, c.milli)}, []float64{20}, 1))
		for free, want := range map[int64]float64{c.worthless: 0, c.milli: c.most, whole: c.whole} {
			if gap := got.gap(0, device{0, free}); math.Abs(gap-want) > 20 {
				t.Errorf("pods of %d: %d are worth %v, should be %v", c.milli, free, gap, want)
			}
		}
	}
}

// TestWithoutDevicesThereAreNoPrices: nothing to be filled, nothing to be paid.
func TestWithoutDevicesThereAreNoPrices(t *testing.T) {
	kinds := []nodeKind{{nodes: 1, cpu: 1000, memory: 1000, devices: []int{0}}}
	if newProgram(kinds, []need{gpuPod(1, 1, 500)}, []float64{1}, 1) != nil {
		t.Error("there is a program without devices")
	}
	none := pricesOf(nil)
	if none.gap(0, device{0, whole}) != 0 || none.plain(0, &need{cpu: 1000}) != 0 {
		t.Errorf("something costs something: %+v", none)
	}
}
