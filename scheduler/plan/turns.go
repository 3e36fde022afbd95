package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// layouts are the devices that pods share or that overlap, by node.
type layouts map[string][]*contract.Device

func layoutsOf(of *contract.Snapshot) layouts {
	if len(of.GetDeviceLayouts()) == 0 {
		return nil
	}
	byID, found := layouts{}, layouts{}
	for _, one := range of.GetDeviceLayouts() {
		byID[one.GetId()] = one.GetDevices()
	}
	for _, node := range of.GetNodes() {
		if devices := byID[node.GetDeviceLayout()]; devices != nil {
			found[node.GetName()] = devices
		}
	}
	return found
}

// names are those of devices of the node. One that the node does not have is named by its index.
func (l layouts) names(node string, indices []int32) (names []string) {
	for _, at := range indices {
		if at >= 0 && int(at) < len(l[node]) {
			names = append(names, l[node][at].GetName())
		} else {
			names = append(names, fmt.Sprintf("#%d", at))
		}
	}
	return names
}

func (l layouts) has(node, device string) bool {
	return slices.ContainsFunc(l[node], func(one *contract.Device) bool { return one.GetName() == device })
}

// checkTurns: who asks for devices that pods share comes in a turn of its own, to devices that its node has.
func checkTurns(plan *Plan, on *snapshot.Snapshot) error {
	asking, seen, known := sets.New[string](), sets.New[int32](), layoutsOf(on.Message)
	if len(on.Message.GetDeviceRequests()) > 0 {
		for _, class := range on.Message.GetPodClasses() {
			if len(class.GetDeviceRequests()) > 0 {
				asking.Insert(class.GetId())
			}
		}
	}
	for _, step := range slices.Concat(plan.Placements, plan.Moves) {
		switch asks := asking.Has(step.Pod.Class); {
		case asks && step.Turn <= 0:
			return refuse(WrongTurn, "pod %s asks for devices that pods share, and has no turn", name(step.Pod))
		case !asks && (step.Turn != 0 || len(step.Devices) > 0):
			return refuse(WrongTurn, "pod %s has turn %d, and asks for no devices that pods share", name(step.Pod), step.Turn)
		case asks && seen.Has(step.Turn):
			return refuse(WrongTurn, "pod %s has turn %d, as another one", name(step.Pod), step.Turn)
		}
		seen.Insert(step.Turn)
		for _, device := range step.Devices {
			if !known.has(step.To, device) {
				return refuse(UnknownDevice, "pod %s is to have device %.64q, which node %q does not have", name(step.Pod), device, step.To)
			}
		}
	}
	return nil
}
