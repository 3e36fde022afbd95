package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

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
	if lives := life.arrival.Lives; lives != nil {
		v.later.add(&timer{at: v.lives.now + *lives, of: life, rank: endsFirst, do: func() error {
			v.events++
			_, err := v.takeAway(life, life.arrival.How, false)
			return err
		}})
	}
	if v.api.runs || life.arrival.Node != "" && life.again == 0 {
		v.ready(life)
		return
	}
	v.later.add(&timer{at: v.lives.now + v.settings.StartsAfter, of: life, do: func() error {
		pod, there := v.api.pod(life.Pod)
		if !there {
			return fmt.Errorf("pod %s is not there any more", life.Pod)
		}
		v.api.run(pod)
		v.ready(life)
		return v.put(podResource, pod)
	}})
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
	v.later.add(&timer{at: v.lives.now + *after, do: func() error {
		now, there := find[*v1.Node](&v.api.tracker, nodeResource, "", node.Name)
		if !there || now.Labels[packingplan.EmptiedLabel] != plan || v.isInUse(node.Name) {
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
	}})
}

// isInUse says whether pods are on a node that would not go with it.
func (v *virtualTime) isInUse(node string) bool {
	for _, life := range v.lives.there {
		if life.Node == node && life.class.owner.Kind != daemonSet {
			return true
		}
	}
	return false
}

// endsFirst is the rank of the ends of pods.
const endsFirst = -1

// timer is something that happens later.
type timer struct {
	at float64
	// rank and number tell those of one time apart: pods end first.
	rank, number int
	// of is the pod that it is about; when that is gone, nothing happens. It may be nil.
	of *Life
	do func() error
}

// timers are in the order of their times, the first one last.
type timers struct {
	waiting []*timer
	made    int
}

func (t *timers) add(one *timer) {
	t.made++
	one.number = t.made
	place, _ := slices.BinarySearchFunc(t.waiting, one, func(a, b *timer) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.rank, a.rank), cmp.Compare(b.number, a.number))
	})
	t.waiting = slices.Insert(t.waiting, place, one)
}

// take returns the first one if it is due by then.
func (t *timers) take(until float64) *timer {
	for last := len(t.waiting) - 1; last >= 0 && t.waiting[last].at <= until; last-- {
		first := t.waiting[last]
		if t.waiting = slices.Delete(t.waiting, last, last+1); first.of == nil || first.of.Ended == nil {
			return first
		}
	}
	return nil
}
