package simulation

import (
	"container/heap"
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
	sort    sort
	// ready: it runs, and counts for disruption budgets.
	ready bool
}

// lives are the pods that are there, and when they end.
type lives struct {
	now float64
	// there are they by namespace/name, last is the last replacement of each recorded pod that is there.
	there, last map[string]*Life
	ends        endings
	reasons     map[string]string
	made        int
	// tallies count the pods by namespace and sort, owned by namespace and owner; touched are the sorts whose counts have
	// changed.
	tallies map[string]map[sort]*tally
	owned   map[string]map[Owner]int32
	touched map[string]map[sort]bool
	write   func(*Life) error
	// started is called with each pod that has got a node, and has it be ready in time.
	started func(*Life)
	// broken is the first error of write.
	broken error
}

func newLives(reasons map[string]string, write func(*Life) error) *lives {
	return &lives{there: map[string]*Life{}, last: map[string]*Life{}, reasons: reasons, write: write,
		tallies: map[string]map[sort]*tally{}, owned: map[string]map[Owner]int32{}, touched: map[string]map[sort]bool{}}
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
		sort: sort{template, ptr.Deref(arrival.Owner, Owner{})}}
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
	l.owned[namespace][life.sort.owner]++
}

// tally is the count of the pod's sort, which is about to change.
func (l *lives) tally(life *Life) *tally {
	namespace, _ := splitKey(life.Pod)
	if l.tallies[namespace] == nil {
		l.tallies[namespace], l.owned[namespace] = map[sort]*tally{}, map[Owner]int32{}
	}
	if l.touched[namespace] == nil {
		l.touched[namespace] = map[sort]bool{}
	}
	l.touched[namespace][life.sort] = true
	count := l.tallies[namespace][life.sort]
	if count == nil {
		count = &tally{}
		l.tallies[namespace][life.sort] = count
	}
	return count
}

func (l *lives) bound(pod *v1.Pod) {
	life := l.there[key(pod)]
	life.Node, life.Bound = pod.Spec.NodeName, ptr.To(l.now)
	l.started(life)
	if lives := life.arrival.Lives; lives != nil {
		heap.Push(&l.ends, ending{at: l.now + *lives, number: l.made, life: life})
		l.made++
	}
}

// replace ends a pod that was preempted and returns what takes its place.
func (l *lives) replace(victim *v1.Pod) *v1.Pod { return l.replaceAfter(victim, howPreempted) }

func (l *lives) replaceAfter(victim *v1.Pod, how string) *v1.Pod {
	life := l.there[key(victim)]
	l.end(life, how)
	if life.arrival.Owner == nil {
		return nil
	}
	_, name := splitKey(life.arrival.Name)
	pod := comeAgain(victim, name, life.again+1)
	l.made++
	pod.UID = types.UID(fmt.Sprintf("%s-%d", key(pod), l.made))
	pod.Status.Phase = v1.PodPending
	l.add(&Life{Pod: key(pod), Arrived: l.now, Replaces: life.arrival.Name, Of: life.Of, arrival: life.arrival,
		again: life.again + 1, sort: life.sort})
	return pod
}

// kind is that of the pod's template and owner. A pod with volumes or claims of its own has none.
func (l *lives) kind(pod *v1.Pod) string {
	life := l.there[key(pod)]
	if life == nil || len(pod.Spec.Volumes) > 0 || len(pod.Spec.ResourceClaims) > 0 {
		return ""
	}
	kind := pod.Namespace + " " + life.Of
	if owner := life.arrival.Owner; owner != nil {
		kind += " " + owner.Kind + " " + owner.Name
	}
	return kind
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
	if l.owned[namespace][life.sort.owner]--; count.there == 0 {
		delete(l.tallies[namespace], life.sort)
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

// nextEnd returns the pod whose life is over first, if it is by then.
func (l *lives) nextEnd(until float64) *Life {
	for len(l.ends) > 0 && l.ends[0].at <= until {
		first := heap.Pop(&l.ends).(ending)
		if first.life.Ended == nil {
			l.now = max(l.now, first.at)
			return first.life
		}
	}
	return nil
}

// ending is when a life is over, unless it has ended before.
type ending struct {
	at float64
	// number tells those of one time apart.
	number int
	life   *Life
}

// endings is a heap.
type endings []ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].number < e[j].number
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(one any) { *e = append(*e, one.(ending)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	one := (*e)[last]
	(*e)[last] = ending{}
	*e = (*e)[:last]
	return one
}
