package simulation

import (
	"container/heap"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// GoneNode is a node that a plan had emptied and that was taken away.
type GoneNode struct {
	At          float64 `json:"at"`
	Node        string  `json:"node"`
	HourlyPrice string  `json:"hourlyPrice,omitempty"`
	price       float64
}

// set adopts the settings.
func (v *virtualTime) set(settings *Settings) {
	v.settings = *settings
	if began := settings.Began; began != nil && v.lives.made == 0 {
		v.began = began.Add(0)
		v.clock.SetTime(v.began)
	}
	if settings.CoolDown != nil {
		v.coolDown = *settings.CoolDown
	}
	v.api.runs = settings.StartsAfter <= 0
}

// start has a pod that has got a node be ready in time. One that was there before is ready already.
func (v *virtualTime) start(life *Life) {
	if v.api.runs || life.arrival.Node != "" && life.again == 0 {
		v.ready(life)
		return
	}
	v.later.add(v.lives.now+v.settings.StartsAfter, func() error {
		if life.Ended != nil {
			return nil
		}
		namespace, name := splitKey(life.Pod)
		object, err := v.api.Get(podResource, namespace, name)
		if err != nil {
			return err
		}
		pod := object.(*v1.Pod)
		v.api.run(pod)
		v.ready(life)
		return v.api.Update(podResource, pod, namespace)
	})
}

func (v *virtualTime) ready(life *Life) {
	life.ready = true
	v.lives.tally(life).ready++
}

// noteEmptied has a node go that a plan has just emptied, if nodes do.
func (v *virtualTime) noteEmptied(node *v1.Node) {
	after, plan := v.settings.EmptiedNodesGoAfter, node.Labels[packingplan.EmptiedLabel]
	if after == nil || plan == "" {
		return
	}
	v.later.add(v.lives.now+*after, func() error {
		object, err := v.api.Get(nodeResource, "", node.Name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if now := object.(*v1.Node); now.Labels[packingplan.EmptiedLabel] != plan || v.isInUse(node.Name) {
			return nil
		}
		price := node.Labels[snapshot.HourlyPrice]
		gone := GoneNode{At: v.lives.now, Node: node.Name, HourlyPrice: price}
		gone.price, _ = strconv.ParseFloat(price, 64)
		v.gone = append(v.gone, gone)
		if err := v.loseNode(node.Name); err != nil {
			return err
		}
		return v.out.now(map[string]GoneNode{"nodeGone": gone})
	})
}

// isInUse says whether pods are on a node that would not go with it.
func (v *virtualTime) isInUse(node string) bool {
	for _, life := range v.lives.there {
		if life.Node == node && life.sort.owner.Kind != daemonSet {
			return true
		}
	}
	return false
}

// timer is something that happens later.
type timer struct {
	at float64
	// number tells those of one time apart.
	number int
	do     func() error
}

// timers is a heap.
type timers struct {
	waiting timerHeap
	made    int
}

func (t *timers) add(at float64, do func() error) {
	t.made++
	heap.Push(&t.waiting, &timer{at, t.made, do})
}

// next is when the first is due, or until if that is earlier.
func (t *timers) next(until float64) float64 {
	if len(t.waiting) == 0 {
		return until
	}
	return min(until, t.waiting[0].at)
}

// take returns the first one if it is due by then.
func (t *timers) take(until float64) *timer {
	if len(t.waiting) == 0 || t.waiting[0].at > until {
		return nil
	}
	return heap.Pop(&t.waiting).(*timer)
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].number < h[j].number
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(one any) { *h = append(*h, one.(*timer)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return one
}
