package resources

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Each snapshot and each rehearsal refreshes the catalogue, most of them when no device has changed.
func BenchmarkRefreshWhereNothingHasChanged(b *testing.B) {
	const nodes, pods, models = 1213, 8000, 6
	var objects []runtime.Object
	for model := range models {
		name := fmt.Sprint("m", model)
		objects = append(objects, aClass(name, name), aTemplate(name, exactly(name, 1)))
	}
	for at := range nodes {
		name, model := fmt.Sprint("n", at), fmt.Sprint("m", at%models)
		objects = append(objects, aNode(name), aSlice(name, model, model, model, model, model, model, model, model))
	}
	for at := range pods {
		node, model := at%nodes, fmt.Sprint("m", at%nodes%models)
		pod := aPod(fmt.Sprint("p", at), fmt.Sprint("n", node), model)
		device := fmt.Sprintf("n%d-%d", node, at/nodes)
		objects = append(objects, claimOf(pod, aTemplate(model, exactly(model, 1)), pod.Spec.NodeName, device), pod)
	}
	c := newCluster(b, objects...)

	for b.Loop() {
		c.book.Refresh()
	}
}
