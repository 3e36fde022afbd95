package resources

import "testing"

// What is compared over time must not change with what others ask of devices.
func TestAVectorWithoutDevicesIsTheSameOfEverythingElse(t *testing.T) {
	others := Vector{extended: map[string]int64{"example.com/x": 1}}.WithPods(2)
	all := others.Plus(Vector{extended: map[string]int64{DevicePrefix + "gpu": 3}})

	if left := all.WithoutDevices(); !left.Equal(others) || all.Of(DevicePrefix+"gpu") != 3 {
		t.Errorf("%+v without devices is %+v", all, left)
	}
}
