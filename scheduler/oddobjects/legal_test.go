package oddobjects_test

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
)

// keepLegal appends the object as the API server would store it, or counts that it would not.
func keepLegal[T runtime.Object](kept []T, object T, count *count) []T {
	count.thrown++
	legacyscheme.Scheme.Default(object)
	if errs := errorsOf(object); len(errs) > 0 {
		kind := reflect.TypeOf(object).Elem().Name()
		count.refused[kind]++
		count.why[fmt.Sprintf("%s %s", kind, errs[0].Type)] = fmt.Sprintf("%.200s", errs[0].Error())
		return kept
	}
	return append(kept, object)
}

// errorsOf are the API server's validation errors for the object.
func errorsOf(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *v1.Pod:
		// Its server sets these itself.
		created := object.DeepCopy()
		created.DeletionTimestamp, created.DeletionGracePeriodSeconds = nil, nil
		pod := converted(created, &core.Pod{})
		podutil.DropDisabledPodFields(pod, nil)
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
		options.ResourceIsPod = true
		ephemeral := pod.Spec.EphemeralContainers // these come by a call of their own
		pod.Spec.EphemeralContainers = nil
		errs := corevalidation.ValidatePodCreate(pod, options)
		pod.Spec.EphemeralContainers = ephemeral
		return errs
	case *v1.Node:
		created := object.DeepCopy()
		created.DeletionTimestamp = nil
		return corevalidation.ValidateNode(converted(created, &core.Node{}))
	case *v1.Namespace:
		return corevalidation.ValidateNamespace(converted(object, &core.Namespace{}))
	case *v1.PersistentVolume:
		volume := converted(object, &core.PersistentVolume{})
		return corevalidation.ValidatePersistentVolume(volume, corevalidation.ValidationOptionsForPersistentVolume(volume, nil))
	case *policyv1.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(converted(object, &policy.PodDisruptionBudget{}),
			policyvalidation.PodDisruptionBudgetValidationOptions{})
	}
	panic(fmt.Sprintf("objects of %T are not known", object))
}

func converted[T runtime.Object](object runtime.Object, into T) T {
	if err := legacyscheme.Scheme.Convert(object, into, nil); err != nil {
		panic(err) // each kind is registered
	}
	return into
}
