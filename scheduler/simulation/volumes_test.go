package simulation_test

import (
	"fmt"
	"strings"
	"testing"
)

// Who makes volumes and binds them is not there. The scheduler decides by what is listed, and waits for nobody: a plugin
// that did would be asked for ten minutes.
func TestNothingWaitsForVolumes(t *testing.T) {
	const (
		class = `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"disk"},"provisioner":"%s",` +
			`"volumeBindingMode":"WaitForFirstConsumer"}`
		claim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"%s","uid":"%s"},"spec":{%s` +
			`"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}}`
		ofDisk = `"storageClassName":"disk",`
		local  = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"5Gi"},` +
			`"accessModes":["ReadWriteOnce"],"storageClassName":"disk","local":{"path":"/d"},"nodeAffinity":{"required":` +
			`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["m"]}]}]}}},` +
			`"status":{"phase":"Available"}}`
		pod = `{"metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"i"}],` +
			`"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"%s"}}]}}`
		nodes = `{"metadata":{"name":"m","labels":{"kubernetes.io/hostname":"m"}},"status":{"allocatable":{"cpu":"2","pods":"10"}}}`
	)
	first, second := fmt.Sprintf(claim, "a", "a", ofDisk), fmt.Sprintf(claim, "b", "b", ofDisk)
	made, static := fmt.Sprintf(class, "disk.example.com"), fmt.Sprintf(class, "kubernetes.io/no-provisioner")
	for name, row := range map[string]struct {
		objects []string
		placed  map[string]bool
		on      string
		awaits  string
	}{
		"a volume that is still to be made":   {[]string{made, first, second}, map[string]bool{"x": true, "y": true}, "", "x y"},
		"a claim without a class":             {[]string{fmt.Sprintf(claim, "a", "a", ""), second, made}, map[string]bool{"x": false, "y": true}, "", "y"},
		"a class that is not listed":          {[]string{first}, map[string]bool{"x": false, "y": false}, "", ""},
		"a claim that is not listed":          {[]string{made, second}, map[string]bool{"x": false, "y": true}, "", "y"},
		"a volume of a node":                  {[]string{static, local, first}, map[string]bool{"x": true, "y": false}, "m", ""},
		"two claims for the volume of a node": {[]string{static, local, first, second}, map[string]bool{"x": true, "y": false}, "m", ""},
	} {
		t.Run(name, func(t *testing.T) {
			failed, results := stream(t, observed(nodes, fmt.Sprintf(pod, "x", "a")+","+fmt.Sprintf(pod, "y", "b"),
				strings.Join(row.objects, ",")))
			result := results[0]
			if failed > 0 || result.Placements["default/p"] == "" {
				t.Fatalf("the pod without volumes should be placed: %+v", result)
			}
			for pod, want := range row.placed {
				if on := result.Placements["default/"+pod]; (on != "") != want || on != "" && row.on != "" && on != row.on {
					t.Errorf("pod %s is on %q, want a node: %t %s; left out %+v", pod, on, want, row.on, result.LeftOut)
				}
			}
			awaits := []string{}
			for _, remark := range result.Awaiting {
				if !strings.Contains(remark.Reason, "disk.example.com has to make one") {
					t.Errorf("who makes the volume should be named: %+v", remark)
				}
				awaits = append(awaits, strings.TrimPrefix(remark.Object, "Pod default/"))
			}
			if got := strings.Join(awaits, " "); got != row.awaits {
				t.Errorf("volumes are still to be made for %q, want %q", got, row.awaits)
			}
			if len(result.Evicted) > 0 {
				t.Errorf("nobody was evicted, but it says %v", result.Evicted)
			}
		})
	}
}
