package simulation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// How a life ends that no event says the end of.
const (
	howPreempted = "preempted"
	howNodeGone  = "node gone"
	howEvicted   = "evicted"
)

// daemonSet is the kind of owner that has a pod for each node.
const daemonSet = "DaemonSet"

// Life is what became of a pod, in virtual time: seconds from the beginning.
type Life struct {
	// Pod is namespace/name.
	Pod string `json:"pod"`
	// Of is the ID of its template.
	Of      string   `json:"of"`
	Arrived float64  `json:"arrived"`
	Bound   *float64 `json:"bound,omitempty"`
	Node    string   `json:"node,omitempty"`
	// Ended is there unless the pod is still there at the end.
	Ended *float64 `json:"ended,omitempty"`
	How   string   `json:"how,omitempty"`
	// Reason says in the scheduler's words what kept it, if it has no node.
	Reason string `json:"reason,omitempty"`
	// Replaces is the recorded pod that it is the replacement of.
	Replaces string `json:"replaces,omitempty"`

	arrival *ArrivingPod
	again   int
	class   podClass
	// ready: it runs, and counts for disruption budgets.
	ready bool
}

// lives are the pods that are there, and whose owners make the next one when one has been preempted. In an instance, they
// are the replacements; nil lives have none.
type lives struct {
	now float64
	// there are they by namespace/name, last is the last replacement of each recorded pod that is there.
	there, last map[string]*Life
	reasons     map[string]string
	made        int
	// tallies count the pods by namespace and class, owned by namespace and owner; touched are the classes whose counts have
	// changed.
	tallies map[string]map[podClass]*tally
	owned   map[string]map[Owner]int32
	touched map[string]map[podClass]bool
	write   func(*Life) error
	// started is called with each pod that has got a node, and has it be ready in time.
	started func(*Life)
	// broken is the first error of write.
	broken error
}

func newLives(reasons map[string]string, write func(*Life) error) *lives {
	return &lives{there: map[string]*Life{}, last: map[string]*Life{}, reasons: reasons, write: write,
		tallies: map[string]map[podClass]*tally{}, owned: map[string]map[Owner]int32{}, touched: map[string]map[podClass]bool{}}
}

// begin returns the pod that comes.
func (l *lives) begin(arrival *ArrivingPod, template *v1.Pod) *v1.Pod {
	pod := template.DeepCopy()
	pod.Namespace, pod.Name = splitKey(arrival.Name)
	l.made++
	// A name may come again.
	pod.UID = types.UID(fmt.Sprintf("%s-%d", arrival.Name, l.made))
	pod.Spec.NodeName = arrival.Node
	pod.Status.Phase = v1.PodPending
	if owner := arrival.Owner; owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name,
			UID: types.UID(owner.Kind + " " + owner.Name), Controller: ptr.To(true),
		}}
	}
	life := &Life{Pod: key(pod), Of: arrival.Of, Arrived: l.now, arrival: arrival,
		class: podClass{template, ptr.Deref(arrival.Owner, Owner{})}}
	l.add(life)
	if arrival.Node != "" {
		l.bound(pod)
	}
	return pod
}

// add has a pod be there, as the last of its name.
func (l *lives) add(life *Life) {
	l.there[life.Pod], l.last[life.arrival.Name] = life, life
	l.tally(life).there++
	namespace, _ := splitKey(life.Pod)
	l.owned[namespace][life.class.owner]++
}

// tally is the count of the pod's class, which is about to change.
func (l *lives) tally(life *Life) *tally {
	namespace, _ := splitKey(life.Pod)
	if l.tallies[namespace] == nil {
		l.tallies[namespace], l.owned[namespace] = map[podClass]*tally{}, map[Owner]int32{}
	}
	if l.touched[namespace] == nil {
		l.touched[namespace] = map[podClass]bool{}
	}
	l.touched[namespace][life.class] = true
	count := l.tallies[namespace][life.class]
	if count == nil {
		count = &tally{}
		l.tallies[namespace][life.class] = count
	}
	return count
}

// bound is told of a pod that has got a node.
func (l *lives) bound(pod *v1.Pod) {
	if l == nil || l.started == nil {
		return
	}
	life := l.there[key(pod)]
	life.Node, life.Bound = pod.Spec.NodeName, ptr.To(l.now)
	l.started(life)
}

// replace ends a pod and returns the one that its owner makes: as the victim was when it arrived, and its name says which
// it replaces, and as which time. It returns nil if no owner does.
func (l *lives) replace(victim *v1.Pod, how string) *v1.Pod {
	if l == nil {
		return nil
	}
	life := l.there[key(victim)]
	if life == nil { // a pod of an instance: all of them have an owner
		life = &Life{Pod: key(victim), arrival: &ArrivingPod{Name: key(victim), Owner: &Owner{}}}
		l.add(life)
	}
	l.end(life, how)
	if life.arrival.Owner == nil {
		return nil
	}
	_, name := splitKey(life.arrival.Name)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       victim.Namespace,
			Name:            fmt.Sprintf("%s-again-%d", name, life.again+1),
			Labels:          victim.Labels,
			Annotations:     victim.Annotations,
			OwnerReferences: victim.OwnerReferences,
		},
		Spec:   *victim.Spec.DeepCopy(),
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	l.made++
	pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprintf("%s-%d", key(pod), l.made)), ""
	l.add(&Life{Pod: key(pod), Arrived: l.now, Replaces: life.arrival.Name, Of: life.Of, arrival: life.arrival,
		again: life.again + 1, class: life.class})
	return pod
}

// lastOf is the last replacement of the pod with that key, or the key itself if it was never replaced.
func (l *lives) lastOf(key string) string {
	if l != nil && l.last[key] != nil {
		return l.last[key].Pod
	}
	return key
}

// templateOf names the template and the owner of the pod. A pod with volumes or resource claims of its own has none.
func (l *lives) templateOf(pod *v1.Pod) string {
	life := l.there[key(pod)]
	if life == nil || len(pod.Spec.Volumes) > 0 || len(pod.Spec.ResourceClaims) > 0 {
		return ""
	}
	template := pod.Namespace + " " + life.Of
	if owner := life.arrival.Owner; owner != nil {
		template += " " + owner.Kind + " " + owner.Name
	}
	return template
}

// end writes down what became of the pod.
func (l *lives) end(life *Life, how string) {
	life.Ended, life.How = ptr.To(l.now), how
	l.put(life)
	count := l.tally(life)
	if count.there--; life.ready {
		count.ready--
	}
	namespace, _ := splitKey(life.Pod)
	if l.owned[namespace][life.class.owner]--; count.there == 0 {
		delete(l.tallies[namespace], life.class)
	}
	delete(l.there, life.Pod)
	if l.last[life.arrival.Name] == life {
		delete(l.last, life.arrival.Name)
	}
	delete(l.reasons, life.Pod)
}

func (l *lives) put(life *Life) {
	if life.Bound == nil {
		life.Reason = l.reasons[life.Pod]
	}
	if err := l.write(life); err != nil && l.broken == nil {
		l.broken = err
	}
}
