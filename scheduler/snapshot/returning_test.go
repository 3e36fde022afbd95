package snapshot_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// workloads are the objects of one namespace.
type workloads []runtime.Object

func objectsOf[Object runtime.Object](in workloads) (all []Object) {
	for _, one := range in {
		if object, ok := one.(Object); ok {
			all = append(all, object)
		}
	}
	return all
}

func (w workloads) ReplicaSets(string) []*appsv1.ReplicaSet { return objectsOf[*appsv1.ReplicaSet](w) }
func (w workloads) Quotas(string) []*v1.ResourceQuota       { return objectsOf[*v1.ResourceQuota](w) }
func (w workloads) LimitRanges(string) []*v1.LimitRange     { return objectsOf[*v1.LimitRange](w) }

func (w workloads) Controller(_, kind, name string) (found metav1.Object, listed bool) {
	for _, one := range w {
		object := one.(metav1.Object)
		if one.GetObjectKind().GroupVersionKind().Kind != kind {
			continue
		}
		listed = true
		if object.GetName() == name {
			return object, true
		}
	}
	return nil, listed
}

// template is that of the pods that aPod makes.
func template(image string) v1.PodTemplateSpec {
	pod := aPod("t", "")
	spec := v1.PodSpec{SchedulerName: ourScheduler, Containers: pod.Spec.Containers}
	spec.Containers[0].Image = image
	return v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}, Spec: spec}
}

// aSet is the ReplicaSet of the pods that aPod makes, of Deployment d, with one pod that it wants.
func aSet(changes ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "rs-a", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "uid-d", Controller: ptr.To(true)}}},
		Spec:   appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Template: template("v1")},
		Status: appsv1.ReplicaSetStatus{Replicas: 1, ReadyReplicas: 1}}
	set.Spec.Template.Labels["pod-template-hash"] = "5d4f"
	return testobjects.With(set, changes...)
}

func aDeployment(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	return testobjects.With(&appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", UID: "uid-d"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Template: template("v1")}}, changes...)
}

func aStatefulSet(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	return testobjects.With(&appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "rs-a"},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Template: template("v1")},
		Status:     appsv1.StatefulSetStatus{Replicas: 1, CurrentRevision: "a-1", UpdateRevision: "a-1"}}, changes...)
}

func aJob(changes ...func(*batchv1.Job)) *batchv1.Job {
	return testobjects.With(&batchv1.Job{TypeMeta: metav1.TypeMeta{Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "rs-a"},
		Spec:       batchv1.JobSpec{Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](3), Template: template("v1")},
		Status:     batchv1.JobStatus{Active: 1}}, changes...)
}

// amounts reads "pods=1 requests.cpu=2".
func amounts(text string) v1.ResourceList {
	list := v1.ResourceList{}
	for _, pair := range strings.Fields(text) {
		name, amount, _ := strings.Cut(pair, "=")
		list[v1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}

func aQuota(hard, used string, scopes ...v1.ScopedResourceSelectorRequirement) *v1.ResourceQuota {
	quota := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"},
		Spec:   v1.ResourceQuotaSpec{Hard: amounts(hard)},
		Status: v1.ResourceQuotaStatus{Hard: amounts(hard), Used: amounts(used)}}
	if len(scopes) > 0 {
		quota.Spec.ScopeSelector = &v1.ScopeSelector{MatchExpressions: scopes}
	}
	return quota
}

func scope(name v1.ResourceQuotaScope, values ...string) v1.ScopedResourceSelectorRequirement {
	if len(values) == 0 {
		return v1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: v1.ScopeSelectorOpExists}
	}
	return v1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: v1.ScopeSelectorOpIn, Values: values}
}

func aLimitRange(item v1.LimitRangeItem) *v1.LimitRange {
	return &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "l"},
		Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{item}}}
}

// returns is a row: the objects of the namespace, and why the one pod there stays.
type returns struct {
	want   string
	change func(*v1.Pod)
	in     workloads
}

func asIs(*v1.Pod) {}

// check holds each row against a snapshot, and against the check right before an eviction.
func check(t *testing.T, rows map[string]returns) {
	t.Helper()
	for name, row := range rows {
		applied, pod := rules(), aPod("a-0", "n1", row.change)
		applied.KeepRollouts = true
		s := snapshot.Build(snapshot.Input{Nodes: n1(), Pods: []*v1.Pod{pod},
			Workloads: row.in, Now: noon, Rules: applied})

		if got := s.Pods[pod.UID].Immovable; got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
		if got := snapshot.KeptAway(pod, nil, row.in, applied); got != row.want {
			t.Errorf("%s, right before the eviction: %q, want %q", name, got, row.want)
		}
	}
}

// A pod whose controller would not create another one like it is lost by an eviction.
func TestAPodThatItsControllerWouldNotReplaceStays(t *testing.T) {
	now := metav1.Now()
	replicas := func(wanted, there int32) *appsv1.ReplicaSet {
		return aSet(func(set *appsv1.ReplicaSet) { set.Spec.Replicas, set.Status.Replicas = &wanted, there })
	}
	revision := func(pod *v1.Pod) {
		ownedBy("StatefulSet")(pod)
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "a-1"
	}
	updating := func(set *appsv1.StatefulSet) { set.Status.UpdateRevision = "a-2" }
	partition := func(from int32) *appsv1.StatefulSet {
		return aStatefulSet(updating, func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &from}
		})
	}
	job := func(change func(*batchv1.Job)) workloads { return workloads{aJob(change)} }
	policy := func(action batchv1.PodFailurePolicyAction) workloads {
		return job(func(job *batchv1.Job) {
			job.Status.Failed = 6
			job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: action,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget}}}}}
		})
	}
	check(t, map[string]returns{
		"nothing is known":                {"", asIs, workloads{}},
		"all is well":                     {"", asIs, workloads{aSet(), aDeployment()}},
		"no Deployments were listed":      {"", asIs, workloads{aSet()}},
		"no such set":                     {snapshot.MissingOwner, asIs, workloads{aSet(func(s *appsv1.ReplicaSet) { s.Name = "b" })}},
		"another set of that name":        {snapshot.MissingOwner, asIs, workloads{aSet(func(s *appsv1.ReplicaSet) { s.UID = "rs-b" })}},
		"the set is being deleted":        {snapshot.MissingOwner, asIs, workloads{aSet(func(s *appsv1.ReplicaSet) { s.DeletionTimestamp = &now })}},
		"another kind of the same name":   {"", func(p *v1.Pod) { p.OwnerReferences[0].APIVersion = "apps.example.com/v1" }, workloads{aSet(func(s *appsv1.ReplicaSet) { s.Name = "b" })}},
		"no such Deployment":              {snapshot.MissingOwner, asIs, workloads{aSet(), aDeployment(func(d *appsv1.Deployment) { d.Name = "e" })}},
		"the Deployment is being deleted": {snapshot.MissingOwner, asIs, workloads{aSet(), aDeployment(func(d *appsv1.Deployment) { d.DeletionTimestamp = &now })}},

		"as many as wanted":           {"", asIs, workloads{replicas(1, 1)}},
		"one to come":                 {"", asIs, workloads{replicas(3, 2)}},
		"one too many":                {snapshot.ScaledDown, asIs, workloads{replicas(1, 2)}},
		"none wanted":                 {snapshot.ScaledDown, asIs, workloads{replicas(0, 1)}},
		"the Deployment wants fewer":  {snapshot.ScaledDown, asIs, workloads{replicas(2, 2), aDeployment()}},
		"a StatefulSet of that many":  {"", ownedBy("StatefulSet"), workloads{aStatefulSet()}},
		"a StatefulSet of fewer":      {snapshot.ScaledDown, ownedBy("StatefulSet"), workloads{aStatefulSet(func(s *appsv1.StatefulSet) { s.Status.Replicas = 2 })}},
		"a controller of fewer":       {snapshot.ScaledDown, ownedBy("ReplicationController"), workloads{aController(0)}},
		"a controller of that many":   {"", ownedBy("ReplicationController"), workloads{aController(1)}},
		"a Job with its last pod":     {snapshot.ScaledDown, ownedBy("Job"), job(func(j *batchv1.Job) { j.Status.Succeeded = 3 })},
		"a Job with more pods to run": {"", ownedBy("Job"), job(func(j *batchv1.Job) { j.Status.Succeeded = 2 })},

		"the template is about to change": {snapshot.Rollout, asIs, workloads{aSet(), aDeployment(func(d *appsv1.Deployment) { d.Spec.Template = template("v2") })}},
		"paused, the template changed": {snapshot.Rollout, asIs, workloads{aSet(), aDeployment(func(d *appsv1.Deployment) {
			d.Spec.Template, d.Spec.Paused = template("v2"), true
		})}},
		"paused, nothing changed":            {"", asIs, workloads{aSet(), aDeployment(func(d *appsv1.Deployment) { d.Spec.Paused = true })}},
		"a StatefulSet's new revision":       {snapshot.Rollout, revision, workloads{aStatefulSet(updating)}},
		"beyond a StatefulSet's partition":   {snapshot.Rollout, revision, workloads{partition(0)}},
		"below a StatefulSet's partition":    {"", revision, workloads{partition(1)}},
		"a StatefulSet's pod of its version": {"", revision, workloads{aStatefulSet()}},

		"a suspended Job": {snapshot.EndingJob, ownedBy("Job"), job(func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) })},
		"a failed Job": {snapshot.EndingJob, ownedBy("Job"), job(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: v1.ConditionTrue}}
		})},
		"a Job's last failure":              {snapshot.EndingJob, ownedBy("Job"), job(func(j *batchv1.Job) { j.Status.Failed = 6 })},
		"a Job's last but one":              {"", ownedBy("Job"), job(func(j *batchv1.Job) { j.Status.Failed = 5 })},
		"a Job that ignores evictions":      {"", ownedBy("Job"), policy(batchv1.PodFailurePolicyActionIgnore)},
		"a Job that an eviction fails":      {snapshot.EndingJob, ownedBy("Job"), policy(batchv1.PodFailurePolicyActionFailJob)},
		"a Job that counts evictions":       {snapshot.EndingJob, ownedBy("Job"), policy(batchv1.PodFailurePolicyActionCount)},
		"a Job's index fails once too much": {snapshot.EndingJob, index(1), job(func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = ptr.To[int32](1) })},
		"a Job's index may fail once":       {"", index(0), job(func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = ptr.To[int32](1) })},

		"its set's last pod was refused": {snapshot.RefusedReplacement, asIs, workloads{refused(aSet())}},
		"its Deployment's last pod was refused": {snapshot.RefusedReplacement, asIs, workloads{aSet(), aDeployment(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: v1.ConditionTrue}}
		})}},
	})
}

func aController(wanted int32) *v1.ReplicationController {
	return &v1.ReplicationController{TypeMeta: metav1.TypeMeta{Kind: "ReplicationController"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "rs-a"},
		Spec:       v1.ReplicationControllerSpec{Replicas: &wanted}, Status: v1.ReplicationControllerStatus{Replicas: 1}}
}

func refused(set *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	set.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: v1.ConditionTrue}}
	return set
}

// index is a pod of an indexed Job whose index has failed so often.
func index(failures int32) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		ownedBy("Job")(pod)
		pod.Annotations = map[string]string{batchv1.JobIndexFailureCountAnnotation: string('0' + failures)}
	}
}

// The pod asks for 100m and 1Gi. Its quota counts it until it is gone, so a full quota has room for the replacement then;
// one that was set below its use has none.
func TestAPodThatItsQuotaWouldNotLetInAgainStays(t *testing.T) {
	class := func(name string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Spec.PriorityClassName = name } }
	unspecified := func(pod *v1.Pod) { pod.Spec.Containers[0].Resources = v1.ResourceRequirements{} }
	deadline := func(pod *v1.Pod) { pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](60) }
	other := aSet(func(set *appsv1.ReplicaSet) { set.Name, set.UID = "b", "rs-b" })
	lowered := aQuota("pods=3", "pods=3")
	lowered.Spec.Hard = amounts("pods=2")
	check(t, map[string]returns{
		"room for one more":           {"", asIs, workloads{aQuota("pods=3", "pods=2")}},
		"full":                        {"", asIs, workloads{aQuota("pods=3", "pods=3")}},
		"below its use":               {snapshot.ResourceQuota, asIs, workloads{aQuota("pods=2", "pods=3")}},
		"lowered just now":            {snapshot.ResourceQuota, asIs, workloads{lowered}},
		"full, and others wait":       {snapshot.ResourceQuota, asIs, workloads{aQuota("pods=3", "pods=3"), aSet(), refused(other)}},
		"room, and others wait":       {"", asIs, workloads{aQuota("pods=3", "pods=2"), aSet(), refused(other)}},
		"little processor":            {snapshot.ResourceQuota, asIs, workloads{aQuota("requests.cpu=1", "requests.cpu=1100m")}},
		"processor left without it":   {"", asIs, workloads{aQuota("requests.cpu=1", "requests.cpu=1")}},
		"what it does not use":        {"", asIs, workloads{aQuota("requests.nvidia.com/gpu=1", "requests.nvidia.com/gpu=2")}},
		"what is not pods":            {"", asIs, workloads{aQuota("services=1", "services=2")}},
		"limits that it has not":      {snapshot.ResourceQuota, asIs, workloads{aQuota("limits.cpu=8", "limits.cpu=1")}},
		"requests that it has not":    {snapshot.ResourceQuota, unspecified, workloads{aQuota("requests.cpu=8", "requests.cpu=1")}},
		"two, one of them below":      {snapshot.ResourceQuota, asIs, workloads{aQuota("pods=9", "pods=3"), aQuota("pods=2", "pods=3")}},
		"of its priority":             {snapshot.ResourceQuota, class("high"), workloads{aQuota("pods=0", "pods=1", scope(v1.ResourceQuotaScopePriorityClass, "high"))}},
		"of another priority":         {"", class("low"), workloads{aQuota("pods=0", "pods=1", scope(v1.ResourceQuotaScopePriorityClass, "high"))}},
		"of pods without requests":    {"", asIs, workloads{aQuota("pods=0", "pods=1", scope(v1.ResourceQuotaScopeBestEffort))}},
		"without requests itself":     {snapshot.ResourceQuota, unspecified, workloads{aQuota("pods=0", "pods=1", scope(v1.ResourceQuotaScopeBestEffort))}},
		"of pods with a deadline":     {"", asIs, workloads{aQuota("pods=0", "pods=1", scope(v1.ResourceQuotaScopeTerminating))}},
		"with a deadline itself":      {snapshot.ResourceQuota, deadline, workloads{aQuota("pods=0", "pods=1", scope(v1.ResourceQuotaScopeTerminating))}},
		"a limit of zero that counts": {snapshot.ResourceQuota, asIs, workloads{aQuota("count/pods=0", "count/pods=1")}},
	})
}

// A quota from a file may have no status; what its namespace uses can be counted.
func TestAQuotaWithoutAStatusIsCountedFromThePods(t *testing.T) {
	for limit, want := range map[string]string{"pods=1": snapshot.ResourceQuota, "pods=2": ""} {
		quota := aQuota(limit, "")
		quota.Status = v1.ResourceQuotaStatus{}

		s := snapshot.Build(snapshot.Input{Nodes: n1(),
			Pods:      []*v1.Pod{aPod("p", "n1"), aPod("q", "n1"), aPod("elsewhere", "n1", inNamespace("other"))},
			Workloads: workloads{quota}, Rules: rules()})

		if got := s.Pods["uid-p"].Immovable; got != want {
			t.Errorf("%s: %q, want %q", limit, got, want)
		}
	}
}

// A LimitRange that came after the pod may refuse the replacement, or have it ask for more than the place that a plan has
// found for it.
func TestAPodThatALimitRangeWouldRefuseOrChangeStays(t *testing.T) {
	unspecified := func(pod *v1.Pod) { pod.Spec.Containers[0].Resources = v1.ResourceRequirements{} }
	filled := func(cpu string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Annotations = map[string]string{"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c"}
			pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: amounts("cpu=" + cpu)}
		}
	}
	open := aSet(func(set *appsv1.ReplicaSet) { unspecified(&v1.Pod{Spec: set.Spec.Template.Spec}) })
	container := func(item v1.LimitRangeItem) workloads {
		item.Type = v1.LimitTypeContainer
		return workloads{aLimitRange(item), open}
	}
	usual := v1.LimitRangeItem{DefaultRequest: amounts("cpu=200m")}
	check(t, map[string]returns{
		"within":                        {"", asIs, container(v1.LimitRangeItem{Min: amounts("cpu=50m")})},
		"below the least":               {snapshot.LimitRange, asIs, container(v1.LimitRangeItem{Min: amounts("cpu=200m")})},
		"no limit where one is asked":   {snapshot.LimitRange, asIs, container(v1.LimitRangeItem{Max: amounts("cpu=1")})},
		"more than a pod may":           {snapshot.LimitRange, asIs, workloads{aLimitRange(v1.LimitRangeItem{Type: v1.LimitTypePod, Min: amounts("memory=2Gi")})}},
		"of claims":                     {"", asIs, workloads{aLimitRange(v1.LimitRangeItem{Type: v1.LimitTypePersistentVolumeClaim, Min: amounts("storage=2Gi")})}},
		"it asks for something itself":  {"", asIs, container(usual)},
		"it asked for nothing":          {snapshot.LimitRange, unspecified, container(usual)},
		"it got the same":               {"", filled("200m"), container(usual)},
		"it got less":                   {snapshot.LimitRange, filled("100m"), container(usual)},
		"it got what nobody gives more": {snapshot.LimitRange, filled("100m"), workloads{open}},
	})
}

// A rule that keeps pods for what an eviction may cost is lifted by a value, as the others are.
func TestARolloutKeepsNobodyWhereThatIsAllowed(t *testing.T) {
	in := workloads{aSet(), aDeployment(func(d *appsv1.Deployment) { d.Spec.Template = template("v2") })}

	if got := snapshot.KeptAway(aPod("a-0", "n1"), nil, in, rules()); got != "" {
		t.Errorf("%q", got)
	}
}
