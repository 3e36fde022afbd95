package reservation

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Taken is the reservation or the plan that a pod took room from, as its annotation says it.
type Taken struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Planned says that it is a plan. The annotation does not tell.
	Planned bool `json:"-"`
}

// TakenBy reads the pod's annotation. One that cannot be read is none.
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
