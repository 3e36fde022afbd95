package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// devicesOf are the names of each node's devices that pods share or that overlap, in the order of its layout.
func devicesOf(of *snapshot.Snapshot) func(node string) []string {
	var told map[string][]string
	return func(node string) []string {
		if names := of.DevicesOf(node); len(names) > 0 {
			return names
		}
		if told == nil {
			told = devicesTold(of.Message)
		}
		return told[node]
	}
}

// devicesTold are the names in the snapshot's message, which are those of a node that is alike.
func devicesTold(of *contract.Snapshot) map[string][]string {
	byLayout, told := map[string][]string{}, map[string][]string{}
	for _, layout := range of.GetDeviceLayouts() {
		for _, device := range layout.GetDevices() {
			byLayout[layout.GetId()] = append(byLayout[layout.GetId()], device.GetName())
		}
	}
	for _, node := range of.GetNodes() {
		told[node.GetName()] = byLayout[node.GetDeviceLayout()]
	}
	return told
}

// namesAt are the names at the indices. A device that is not there is named by its index.
func namesAt(devices []string, indices []int32) (names []string) {
	for _, at := range indices {
		if at >= 0 && int(at) < len(devices) {
			names = append(names, devices[at])
		} else {
			names = append(names, fmt.Sprintf("#%d", at))
		}
	}
	return names
}

// checkTurns: who asks for devices that pods share comes in a turn of its own, to devices that its node has.
func checkTurns(plan *Plan, on *snapshot.Snapshot) error {
	asking, seen, devices := sets.New[string](), sets.New[int32](), devicesOf(on)
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
			if !slices.Contains(devices(step.To), device) {
				return refuse(UnknownDevice, "pod %s is to have device %.64q, which node %q does not have", name(step.Pod), device, step.To)
			}
		}
	}
	return nil
}
