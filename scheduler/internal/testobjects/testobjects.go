// Package testobjects makes the objects that the tests of several packages need. Nodes and pods come as the builders of
// Kubernetes' own scheduler tests, which set whatever else a test is about.
package testobjects

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"
)

// Client is a client of an API server with these objects, and counts the watches that it has begun. A test that creates
// objects must wait for the watches of its informers: what is created between a list and its watch comes in random order,
// and is the very object that the tracker gives to others.
func Client(objects ...runtime.Object) (client *fake.Clientset, watches *atomic.Int32) {
	client, watches = fake.NewClientset(objects...), new(atomic.Int32)
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		begun, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace(),
			action.(clienttesting.WatchActionImpl).ListOptions)
		watches.Add(1)
		return true, begun, err
	})
	return client, watches
}

// Node is a node for 110 pods, whose host name and UID are its name.
func Node(name, cpu, memory string) *st.NodeWrapper {
	return st.MakeNode().Name(name).UID(name).Label(v1.LabelHostname, name).Capacity(map[v1.ResourceName]string{
		v1.ResourceCPU: cpu, v1.ResourceMemory: memory, v1.ResourcePods: "110"})
}

// NodeInfos are the nodes as a scheduling cycle sees them, without pods.
func NodeInfos(nodes ...*v1.Node) []fwk.NodeInfo {
	infos := make([]fwk.NodeInfo, len(nodes))
	for i, node := range nodes {
		infos[i] = framework.NewNodeInfo()
		infos[i].SetNode(node)
	}
	return infos
}

// Pod is a pending pod of the ReplicaSet of the same name, with its name as UID and as label app. It asks for that much;
// "" is no request.
func Pod(name, cpu, memory string) *st.PodWrapper {
	requests := map[v1.ResourceName]string{}
	for resource, amount := range map[v1.ResourceName]string{v1.ResourceCPU: cpu, v1.ResourceMemory: memory} {
		if amount != "" {
			requests[resource] = amount
		}
	}
	pod := st.MakePod().Namespace(metav1.NamespaceDefault).Name(name).UID(name).Label("app", name).
		SchedulerName(v1.DefaultSchedulerName).Phase(v1.PodPending).
		Containers([]v1.Container{st.MakeContainer().Name("c").Image("image").ResourceRequests(requests).Obj()})
	pod.OwnerReferences = []metav1.OwnerReference{ReplicaSet(name)}
	return pod
}

// ReplicaSet refers to a ReplicaSet as the controller of a pod.
func ReplicaSet(name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID("rs-" + name),
		Controller: ptr.To(true)}
}

// Reservation holds that much room of one resource on a node, for the pods of an app.
func Reservation(name, node string, resource v1.ResourceName, amount, app string) *unstructured.Unstructured {
	object := Custom("Reservation", name, map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
			"name": "c", "resources": map[string]any{"requests": map[string]any{string(resource): amount}}}}}},
		"owners": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": app}}}},
	})
	object.Object["status"] = map[string]any{"phase": "Available", "nodeName": node}
	return object
}

// Lease is held by the process of that identity.
func Lease(namespace, name, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value is what a call has returned beside no error: Value(call())(t). An error ends the test.
func Value[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return value
	}
}

// With is the object after the changes.
func With[T any](object T, changes ...func(T)) T {
	for _, change := range changes {
		change(object)
	}
	return object
}

// Eventually waits until the condition holds, and ends the test if it does not in two minutes.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// Budget is a disruption budget of the default namespace for the pods with a label, which allows so many disruptions.
func Budget(name, key, value string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: metav1.SetAsLabelSelector(map[string]string{key: value})},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// CustomClient is a client of an API server with the custom resources.
func CustomClient() *dynamicfake.FakeDynamicClient {
	group, lists := schema.GroupVersion{Group: "stowage.dev", Version: "v1alpha1"}, map[schema.GroupVersionResource]string{}
	for resource, kind := range map[string]string{
		"packingplans": "PackingPlan", "packingpolicies": "PackingPolicy", "reservations": "Reservation"} {
		lists[group.WithResource(resource)] = kind + "List"
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
}

// Custom is an object of a custom resource. Its UID is its name after "uid-".
func Custom(kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion("stowage.dev/v1alpha1")
	object.SetKind(kind)
	object.SetName(name)
	object.SetUID(types.UID("uid-" + name))
	return object
}

// PodQuota allows so many pods, of which there are two, in the namespace of all pods.
func PodQuota(hard string) *v1.ResourceQuota {
	limit := v1.ResourceList{v1.ResourcePods: resource.MustParse(hard)}
	return &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "q"},
		Spec: v1.ResourceQuotaSpec{Hard: limit}, Status: v1.ResourceQuotaStatus{Hard: limit,
			Used: v1.ResourceList{v1.ResourcePods: resource.MustParse("2")}}}
}

// Handle is that of a plugin in a scheduler that has informers of this client, and nothing else.
type Handle struct {
	fwk.Handle
	Informers informers.SharedInformerFactory
}

// NewHandle returns a handle whose informers show the objects once Sync is called.
func NewHandle(objects ...runtime.Object) *Handle {
	return &Handle{Informers: informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)}
}

// SharedInformerFactory implements fwk.Handle.
func (h *Handle) SharedInformerFactory() informers.SharedInformerFactory { return h.Informers }

// SharedDRAManager implements fwk.Handle.
func (h *Handle) SharedDRAManager() fwk.SharedDRAManager { return nil }

// Sync starts the informers that were asked for, and waits until they show everything.
func (h *Handle) Sync(t testing.TB) {
	t.Helper()
	h.Informers.Start(t.Context().Done())
	h.Informers.WaitForCacheSync(t.Context().Done())
}
