package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

// kinds of objects about devices, as JSON.
const (
	gpuClass = `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},` +
		`"spec":{"extendedResourceName":"example.com/gpu"}}`
	gpuSpec     = `"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}}`
	gpuTemplate = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"gpu"},"spec":{` + gpuSpec + `}}`
)

// slice gives node n devices, each with what is further said of it.
func slice(devices ...string) string {
	list := make([]string, len(devices))
	for i, further := range devices {
		list[i] = fmt.Sprintf(`{"name":"gpu-%d"%s}`, i, further)
	}
	return fmt.Sprintf(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"n"},"spec":{"driver":"example.com",`+
		`"nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1},"devices":[%s]}}`, strings.Join(list, ","))
}

// namedClaim is a claim of one device.
func namedClaim(name string) string {
	return fmt.Sprintf(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":%q},%s}`, name, gpuSpec)
}

// ways in which a pod asks for a device.
const (
	byTemplate      = `"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]`
	byClaim         = `"resourceClaims":[{"name":"gpu","resourceClaimName":"%s"}]`
	byResource      = `"example.com/gpu":"1"`
	byClassResource = `"deviceclass.resource.kubernetes.io/gpu":"1"`
)

// podWith asks for a device in one of these ways, and may have a node.
func podWith(name, asking, node string) string {
	spec, resources := "", `"cpu":"100m"`
	if strings.HasPrefix(asking, `"resourceClaims"`) {
		spec = asking + ","
	} else if asking != "" {
		resources += "," + asking
	}
	if node != "" {
		spec += fmt.Sprintf(`"nodeName":%q,`, node)
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q},"spec":{%s"containers":[{"name":"c","image":"i",`+
		`"resources":{"requests":{%s},"limits":{%s}}}]}}`, name, name, spec, resources, resources)
}

// withDevices is an instance with a node n, a device class and its template. Changes are pods that go once all have come.
func withDevices(t *testing.T, arrival simulation.Arrival, objects, pods []string, gone ...string) simulation.Instance {
	t.Helper()
	changes := make([]string, len(gone))
	for i, pod := range gone {
		changes[i] = fmt.Sprintf(`{"after":%d,"podGone":"default/%s"}`, len(pods), pod)
	}
	text := fmt.Sprintf(`{"id":"i","nodes":[{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"8","pods":"110"}}}],`+
		`"arrival":%q,"objects":[%s],"pods":[%s],"changes":[%s]}`, arrival,
		strings.Join(append([]string{gpuClass, gpuTemplate}, objects...), ","), strings.Join(pods, ","), strings.Join(changes, ","))
	return testobjects.Value(simulation.ParseInstance([]byte(text)))(t)
}

// onNodes are the names of the pods that have a node.
func onNodes(result simulation.Result) string {
	var names []string
	for pod, node := range result.Placements {
		if node != "" {
			names = append(names, strings.TrimPrefix(pod, "default/"))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Whoever asks, and however: a device is given once, and a pod waits where none is left.
func TestADeviceIsGivenToOnePodAtATime(t *testing.T) {
	two := slice("", "")
	for name, asking := range map[string]string{
		"by template": byTemplate, "by extended resource": byResource, "by the resource of a class": byClassResource, "by claim": byClaim,
	} {
		ask := func(pod string) string { return strings.Replace(asking, "%s", pod, 1) }
		objects := []string{two, namedClaim("a"), namedClaim("b"), namedClaim("c")}
		for _, arrival := range []simulation.Arrival{simulation.InTurn, simulation.AtOnce} {
			pods := []string{podWith("a", ask("a"), ""), podWith("b", ask("b"), ""), podWith("c", ask("c"), "")}
			if got := onNodes(place(t, "deterministic", withDevices(t, arrival, objects, pods))); got != "a b" {
				t.Errorf("%s, %s: two pods should have the two devices, and have them: %q", name, arrival, got)
			}
		}
		waiting, running := podWith("b", ask("b"), ""), podWith("a", ask("a"), "n")
		instance := withDevices(t, simulation.InTurn, []string{slice(""), namedClaim("a"), namedClaim("b")}, []string{waiting, running})
		if got := onNodes(place(t, "deterministic", instance)); got != "a" {
			t.Errorf("%s: a pod that runs should have the device, and it is: %q", name, got)
		}
	}
}

// Nobody else frees it: there is no garbage collector and no controller of claims.
func TestAPodThatGoesGivesItsDevicesBack(t *testing.T) {
	objects := []string{slice(""), namedClaim("a"), namedClaim("b")}
	for name, asking := range map[string]string{
		"by template": byTemplate, "by extended resource": byResource, "by claim": byClaim,
	} {
		ask := func(pod string) string { return strings.Replace(asking, "%s", pod, 1) }
		for _, node := range []string{"", "n"} {
			pods := []string{podWith("a", ask("a"), node), podWith("b", ask("b"), "")}
			if got := onNodes(place(t, "deterministic", withDevices(t, simulation.InTurn, objects, pods, "a"))); got != "b" {
				t.Errorf("%s, on node %q: the pod that waits should have the device: %q", name, node, got)
			}
		}
	}
	// Preemption that takes a pod for its room takes its devices with it.
	high := strings.Replace(podWith("high", `"cpu":"8"`, ""), `"spec":{`, `"spec":{"priority":9,`, 1)
	high = strings.ReplaceAll(high, `"cpu":"100m",`, "")
	waiting := strings.Replace(podWith("waiting", byTemplate, ""), `"spec":{`, `"spec":{"priority":9,`, 1)
	waiting = strings.ReplaceAll(waiting, `"cpu":"100m"`, "")
	instance := withDevices(t, simulation.InTurn, objects, []string{podWith("low", byTemplate, ""), waiting, high})
	if got := onNodes(place(t, "default", instance)); got != "high waiting" {
		t.Errorf("the pod that waits should have the device of the preempted pod: %q", got)
	}
}

// A claim by name outlives its pods: its device is free when the last of them is gone, and not before.
func TestANamedClaimIsSharedAndThenFree(t *testing.T) {
	shared := strings.Replace(byClaim, "%s", "shared", 1)
	objects := []string{slice(""), namedClaim("shared")}
	pods := []string{podWith("a", shared, ""), podWith("b", shared, ""), podWith("other", byTemplate, "")}
	for _, row := range []struct {
		gone []string
		want string
	}{{nil, "a b"}, {[]string{"a"}, "b"}, {[]string{"b", "a"}, "other"}} {
		if got := onNodes(place(t, "deterministic", withDevices(t, simulation.InTurn, objects, pods, row.gone...))); got != row.want {
			t.Errorf("with %q gone, want %q on the node, got %q", row.gone, row.want, got)
		}
	}
}

// The scheduler's plugin waits for minutes for devices that a driver has to make ready, and looks once a second for a claim
// that it has made itself.
func TestNothingWaitsForADriver(t *testing.T) {
	const slow = `,"bindsToNode":true,"bindingConditions":["example.com/ready"],"bindingFailureConditions":["example.com/broken"]`
	devices, pods := make([]string, 120), make([]string, 120)
	for i := range pods {
		pods[i] = podWith(fmt.Sprintf("pod-%03d", i), byResource, "")
		if i%2 == 0 {
			devices[i], pods[i] = slow, podWith(fmt.Sprintf("pod-%03d", i), byTemplate, "")
		}
		pods[i] = strings.ReplaceAll(pods[i], "100m", "1m")
	}
	instance := withDevices(t, simulation.InTurn, []string{slice(devices...)}, pods[:100])
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	result := testobjects.Value(simulatorOf(t, profileFolder+"/deterministic.yaml").Run(ctx, instance))(t)
	if got := len(strings.Fields(onNodes(result))); got != 100 {
		t.Errorf("100 pods should have a device, %d have: %v", got, result.Reasons)
	}
}

// The scheduler does not try such a pod, so that it says nothing of it.
func TestAPodSaysWhichClaimItLacks(t *testing.T) {
	for _, asking := range []string{strings.Replace(byTemplate, `Name":"gpu"`, `Name":"gone"`, 1), strings.Replace(byClaim, "%s", "gone", 1)} {
		result := place(t, "deterministic", withDevices(t, simulation.InTurn, nil, []string{podWith("a", asking, "")}))
		if reason := result.Reasons["default/a"]; onNodes(result) != "" || !strings.Contains(reason, `"gone"`) {
			t.Errorf("%s: the reason should name what is not there: %+v", asking, result)
		}
	}
}

// What was captured is true: the claims of a pod that runs say which devices are taken, and a pod for which there are none
// was seen all the same.
func TestObservedPodsKeepTheirDevices(t *testing.T) {
	const allocated = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"captured","uid":"captured","ownerReferences":` +
		`[{"apiVersion":"v1","kind":"Pod","name":"q","uid":"q","controller":true}]},` + gpuSpec + `,"status":{"allocation":{"devices":{"results":` +
		`[{"request":"gpu","driver":"example.com","pool":"n","device":"gpu-0"}]}},"reservedFor":[{"resource":"pods","name":"q","uid":"q"}]}}`
	captured := strings.TrimSuffix(podWith("q", byTemplate, "n"), "}") +
		`,"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"captured"}]}}`
	waiting := podWith("r", byTemplate, "")
	for name, row := range map[string]struct {
		pods, objects string
		waiting, told bool
	}{
		"a captured claim":              {captured, slice("") + "," + allocated, false, false},
		"beside a free device":          {captured, slice("", "") + "," + allocated, true, false},
		"a node that lacks the devices": {podWith("q", byTemplate, "n"), slice(), false, true},
	} {
		line := observed("", row.pods+","+waiting, gpuClass+","+gpuTemplate+","+row.objects)
		failed, results := stream(t, line)
		if failed > 0 || results[0].Placements["default/q"] != "n" || (results[0].Placements["default/r"] != "") != row.waiting {
			t.Errorf("%s: the pod that waits should have a device: %t; got %+v", name, row.waiting, results[0])
		}
		for _, reading := range []simulation.Reading{results[0].Reading, answerTo(t, line).Reading} {
			if row.told {
				expectLeftOut(t, reading, "Pod default/q", "does not have the devices that it claims")
			} else if len(reading.LeftOut) > 0 {
				t.Errorf("%s: nothing should be left out: %+v", name, reading.LeftOut)
			}
		}
	}
	instance := withDevices(t, simulation.InTurn, []string{slice()}, []string{podWith("q", byTemplate, "n")})
	answer, err := simulatorOf(t, profileFolder+"/deterministic.yaml").Run(t.Context(), instance)
	if err != nil || answer.Placements["default/q"] != "n" {
		t.Errorf("a pod whose node lacks its devices should keep its place: %+v, %v", answer, err)
	}
}

// TestDevicesInVirtualTime: pods come back under other names with claims of their own, and what a scheduler has written
// outlives it.
func TestDevicesInVirtualTime(t *testing.T) {
	object := func(text string) string { return fmt.Sprintf(`{"at":0,"object":%s}`, text) }
	devices := []string{object(gpuClass), object(gpuTemplate), object(namedClaim("shared")), object(slice("")), nodeAt(0, "n"), nodeAt(0, "m")}
	gpu, high := template("gpu", 1, 1, byTemplate+","), template("high", 1, 2, "")
	shared := template("shared", 0, 1, strings.Replace(byClaim, "%s", "shared", 1)+",")
	for name, row := range map[string]struct {
		story []string
		want  map[string]string
	}{
		"the next pod takes the device": {
			[]string{gpu, podAt(1, "a", "gpu", livesTen), podAt(2, "b", "gpu", livesTen)},
			map[string]string{"a": "at 1, on n at 1, succeeded at 11", "b": "at 2, on n at 11, succeeded at 21"}},
		"an evicted pod comes back with the device": {
			[]string{gpu, podAt(1, "a", "gpu", owned), evictAt(5, "a")},
			map[string]string{"a": "at 1, on n at 1, evicted at 5", "a-again-1": "at 5, on n at 5"}},
		"a preempted pod leaves the device": {
			[]string{gpu, high, podAt(1, "a", "gpu", owned), podAt(2, "b", "high", ""), podAt(3, "c", "high", ""), podGone(9, "b"), podGone(9, "c")},
			map[string]string{"a": "at 1, on n at 1, preempted at 3", "a-again-1": "at 3, on n at 9", "b": "at 2, on m at 2,  at 9", "c": "at 3, on n at 3,  at 9"}},
		"a restart forgets no device": {
			[]string{gpu, podAt(1, "a", "gpu", livesTen), `{"at":2,"restart":true}`, podAt(3, "b", "gpu", "")},
			map[string]string{"a": "at 1, on n at 1, succeeded at 11", "b": "at 3, on n at 11"}},
		"a claim that is written again keeps its device": {
			[]string{gpu, shared, podAt(1, "a", "shared", livesTen), strings.Replace(object(namedClaim("shared")), `"at":0`, `"at":2`, 1), podAt(3, "b", "gpu", "")},
			map[string]string{"a": "at 1, on n at 1, succeeded at 11", "b": "at 3, on n at 11"}},
		"pods that came before their template get their claims from it": {
			[]string{strings.ReplaceAll(gpu, `Name":"gpu"`, `Name":"late"`), podAt(1, "a", "gpu", livesTen), podAt(2, "b", "gpu", ""),
				strings.Replace(object(strings.Replace(gpuTemplate, `"name":"gpu"`, `"name":"late"`, 1)), `"at":0`, `"at":3`, 1)},
			map[string]string{"a": "at 1, on n at 3, succeeded at 13", "b": "at 2, on n at 13"}},
		"a pod that was there has a device": {
			[]string{gpu, podAt(1, "a", "gpu", livesTen+`,"node":"n"`), podAt(3, "b", "gpu", "")},
			map[string]string{"a": "at 1, on n at 1, succeeded at 11", "b": "at 3, on n at 11"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, passed := become(t, "default", story(append(append(slices.Clone(devices), row.story...), end)...))
			for pod, want := range row.want {
				if got[pod] != want {
					t.Errorf("pod %s: want %s, got %s", pod, want, got[pod])
				}
			}
			if passed.Error != "" || len(passed.LeftOut) > 0 {
				t.Errorf("nothing should be wrong: %+v", passed)
			}
		})
	}
}
