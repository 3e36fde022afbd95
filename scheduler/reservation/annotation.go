package reservation

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Taken is the reservation or the plan that a pod took room from, as in its annotation.
type Taken struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Planned says that it is a plan. It is not part of the annotation.
	Planned bool `json:"-"`
}

// TakenBy reads the pod's annotation. An annotation that cannot be read is ignored.
func TakenBy(pod *v1.Pod) (taken Taken, ok bool) {
	text, given := pod.Annotations[AllocatedAnnotation]
	if !given || json.Unmarshal([]byte(text), &taken) != nil || taken.UID == "" {
		return Taken{}, false
	}
	return taken, true
}

// Text is the annotation's value.
func (t Taken) Text() string {
	encoded, err := json.Marshal(t)
	if err != nil {
		return "" // two strings always marshal
	}
	return string(encoded)
}
