package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/stowage/stowage/scheduler/resources"
)

// Event is one line of what happens in virtual time. Besides its time it has one of the other fields at most; with none,
// time passes.
type Event struct {
	// At is in seconds from the beginning. It is never less than that of the event before.
	At float64 `json:"at"`
	// Template is of the pods that name it.
	Template *Template `json:"template,omitempty"`
	// Namespace is there, with its labels.
	Namespace *v1.Namespace `json:"namespace,omitempty"`
	// Node takes the place of the node of its name, or joins the others.
	Node json.RawMessage `json:"node,omitempty"`
	// NodeGone is the name of a node that is removed, and with it its pods: those with an owner come back.
	NodeGone string `json:"nodeGone,omitempty"`
	// Object takes the place of the one of its name, or is new; of a kind that the scheduler reads.
	Object     json.RawMessage `json:"object,omitempty"`
	ObjectGone *ObjectName     `json:"objectGone,omitempty"`
	Pod        *ArrivingPod    `json:"pod,omitempty"`
	// PodGone is namespace/name of a pod that goes, or its replacement does, if it is still there.
	PodGone string `json:"podGone,omitempty"`
	// Settings hold from then on.
	Settings *Settings `json:"settings,omitempty"`
	// Policy is a PackingPolicy, which takes the place of the one of its name, or is new. The profile must have the
	// optimiser.
	Policy json.RawMessage `json:"policy,omitempty"`
	// Evict is namespace/name of a pod that somebody asks the Eviction API to evict. The answer has a line about it.
	Evict string `json:"evict,omitempty"`
	// Restart has the scheduler's process end, as if it were killed, and another one begin.
	Restart bool `json:"restart,omitempty"`
	// State asks for a line with the nodes, the pods and the disruption budgets as they are then.
	State bool `json:"state,omitempty"`
}

// Settings are what the world is like. They come before the first pod.
type Settings struct {
	// Began is the time of second 0; without, the beginning of 1970. Windows of policies depend on it.
	Began *time.Time `json:"began,omitempty"`
	// StartsAfter is how many seconds after its binding a pod is ready.
	StartsAfter float64 `json:"startsAfter,omitempty"`
	// EmptiedNodesGoAfter is how many seconds after a plan has emptied a node it is taken away, as an autoscaler would;
	// without, it stays.
	EmptiedNodesGoAfter *float64 `json:"emptiedNodesGoAfter,omitempty"`
	// CoolDown is how many seconds after a pod was evicted its replacement should be left alone. The answer counts those
	// that were not. Without, it is that of the profile.
	CoolDown *float64 `json:"coolDown,omitempty"`
}

// Template is what equal pods have in common.
type Template struct {
	ID  string          `json:"id"`
	Pod json.RawMessage `json:"pod"`
}

// ObjectName names an object.
type ObjectName struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ArrivingPod is a pod that comes.
type ArrivingPod struct {
	// Name is namespace/name.
	Name string `json:"name"`
	// Of is the ID of its template.
	Of string `json:"of"`
	// Owner is its controller, if it has one: that brings it back when it has been preempted.
	Owner *Owner `json:"owner,omitempty"`
	// Node is where it is already.
	Node string `json:"node,omitempty"`
	// Lives is how many seconds after it was bound it ends; without, it stays until it is said to be gone.
	Lives *float64 `json:"lives,omitempty"`
	// How is how it ends, in the answer.
	How string `json:"how,omitempty"`
}

// Owner is a pod's controller.
type Owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// timeline decodes events. What makes no sense of it is left out, as of an observed instance.
type timeline struct {
	observation
	templates map[string]*v1.Pod
	// schedulers are the names in the profiles; pods that name another one are of the first.
	schedulers []string
	last       float64
}

// read decodes a line.
func (t *timeline) read(line []byte) (Event, error) {
	var event Event
	strict, err := kjson.UnmarshalStrict(line, &event)
	if err != nil {
		return Event{}, fmt.Errorf("not an event in JSON: %w", err)
	}
	if event.At < t.last {
		strict = append(strict, fmt.Errorf("at: %v is before %v, the time of the line before", event.At, t.last))
	}
	t.last = event.At
	return event, errors.Join(strict...)
}

// keep keeps a template, unless no pod can be made from it.
func (t *timeline) keep(template *Template) {
	var pod v1.Pod
	if !t.decode("Template", 0, template.Pod, &pod) {
		return
	}
	for _, where := range slices.Sorted(maps.Keys(amountsOfPod(&pod))) {
		if errs := validateQuantities(where, amountsOfPod(&pod)[where]); len(errs) > 0 {
			t.leaveOut("Template", template.ID, errors.Join(errs...).Error())
			return
		}
	}
	if !resources.Countable(&pod) {
		t.leaveOut("Template", template.ID, "it asks for "+uncountable)
		return
	}
	if !slices.Contains(t.schedulers, pod.Spec.SchedulerName) {
		pod.Spec.SchedulerName = t.schedulers[0]
	}
	// When a gate was opened is not known.
	pod.Spec.SchedulingGates, pod.Spec.NodeName = nil, ""
	t.templates[template.ID] = &pod
}
