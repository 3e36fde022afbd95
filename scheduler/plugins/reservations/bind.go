package reservations

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/reservation"
)

const (
	// askAgain is how often the API server is asked whether a pod was bound.
	askAgain = 250 * time.Millisecond
	// askFor is how long it is asked. Until then the pod keeps its room.
	askFor = time.Minute
	// leadTimeout bounds the check of the lease.
	leadTimeout = 5 * time.Second
)

// Bind binds a pod as the default plugin does. If the pod took from a reservation, the same request sets its annotation:
// the annotation is there if and only if the pod is bound. A process that was stopped for longer than its lease binds no
// pods: it does not know what its successor has bound.
func (p *Plugin) Bind(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if err := p.checkLead(ctx); err != nil {
		return fwk.AsStatus(fmt.Errorf("binding pod %s/%s: %w", pod.Namespace, pod.Name, err))
	}
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	client := p.handle.ClientSet()
	if found := stateOf(cycle); found != nil && found.taken != nil {
		binding.Annotations = map[string]string{reservation.AllocatedAnnotation: found.taken.Text()}
		if found.taken.Planned && p.arrivals != nil {
			client = p.arrivals
		}
	}
	err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if err == nil || answerLost(err) && p.wasBound(ctx, pod, node) {
		return nil
	}
	return fwk.AsStatus(fmt.Errorf("binding pod %s/%s: %w", pod.Namespace, pod.Name, err))
}

func (p *Plugin) checkLead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	return p.lease.Load().CheckCached(ctx)
}

// answerLost says that the error leaves open whether the pod has been bound: the server or the connection failed. To
// treat such a pod as unbound would give its room to another pod.
func answerLost(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err)
}

// wasBound asks the API server, once it is back, whether the pod is on the node.
func (p *Plugin) wasBound(ctx context.Context, pod *v1.Pod, node string) bool {
	bound := false
	// The error is a timeout: then the pod counts as unbound, as without this check.
	_ = wait.PollUntilContextTimeout(ctx, askAgain, askFor, true, func(ctx context.Context) (bool, error) {
		live, err := p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil {
			bound = live.UID == pod.UID && live.Spec.NodeName == node
		}
		return err == nil || apierrors.IsNotFound(err), nil
	})
	return bound
}
