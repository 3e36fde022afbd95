// Package config is the plugin's arguments in a KubeSchedulerConfiguration.
package config

import (
	"cmp"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/pluginargs"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// APIVersion is the version of PriorityOptimizerArgs this scheduler reads.
const APIVersion = "stowage.dev/v1alpha1"

// ArgsKind is the kind of the plugin's arguments.
const ArgsKind = "PriorityOptimizerArgs"

// Policy says what a plan may do to running pods.
type Policy string

const (
	// PolicyStrict lets a running pod be left unplaced only for pods of strictly higher priority.
	PolicyStrict Policy = "Strict"
	// PolicyPaper is the paper's own text: running pods of equal priority may be traded.
	PolicyPaper Policy = "Paper"
)

// Plan is what plans to place pods may do under the policy.
func (p Policy) Plan() plan.Policy {
	if p == PolicyPaper {
		return plan.Paper
	}
	return plan.Strict
}

// PriorityOptimizerArgs are the plugin's arguments in a KubeSchedulerConfiguration. A field that
// is left out takes the value that Default gives it.
type PriorityOptimizerArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Socket is the absolute path of the optimiser's Unix socket.
	Socket string `json:"socket,omitempty"`
	// Trigger is what starts a solve: Manual, OnUnschedulable, Periodic or Batch.
	Trigger gate.TriggerType `json:"trigger,omitempty"`
	// SettleSeconds is how long no new pod must turn out unschedulable before a solve starts
	// (trigger OnUnschedulable). A steady stream of them delays it to ten times this at most.
	SettleSeconds float64 `json:"settleSeconds,omitempty"`
	// IntervalSeconds is the time between two solves of trigger Periodic.
	IntervalSeconds float64 `json:"intervalSeconds,omitempty"`
	// BatchPods is how many new pods fill a batch (trigger Batch).
	BatchPods int32 `json:"batchPods,omitempty"`
	// BatchSeconds is how long a batch waits for more pods (trigger Batch). What did not fit is tried
	// again after the same time, if anything has changed.
	BatchSeconds float64 `json:"batchSeconds,omitempty"`
	// TimeLimitSeconds is the wall-clock limit of one solve, once the optimiser has read the snapshot.
	TimeLimitSeconds float64 `json:"timeLimitSeconds,omitempty"`
	// MaxTimeLimitSeconds is the longest time limit that a PackingPlan may ask for; no other solve runs meanwhile.
	MaxTimeLimitSeconds float64 `json:"maxTimeLimitSeconds,omitempty"`
	// MaxHoldSeconds is how long new pods are held back at a time at most, and MaxHoldShare the largest share of any
	// minute in which they are, however long or often solves run.
	MaxHoldSeconds float64 `json:"maxHoldSeconds,omitempty"`
	MaxHoldShare   float64 `json:"maxHoldShare,omitempty"`
	// Strategy is the name of the optimiser's strategy.
	Strategy string `json:"strategy,omitempty"`
	// Policy is Strict or Paper.
	Policy Policy `json:"policy,omitempty"`
	// Maximize is Pods or Devices: what plans to place pods maximize, tier by tier, unless a PackingPlan says.
	Maximize packingplan.Maximized `json:"maximize,omitempty"`
	// Workers is the number of threads a solve may use; 0 means all cores.
	Workers int32 `json:"workers,omitempty"`
	// Seed seeds every random choice of the optimiser.
	Seed int64 `json:"seed,omitempty"`
	// Deterministic makes the optimiser count steps instead of seconds.
	Deterministic bool `json:"deterministic,omitempty"`
	// PlanTimeoutSeconds is how long carrying out a plan may take before it is aborted.
	PlanTimeoutSeconds float64 `json:"planTimeoutSeconds,omitempty"`
	// StepTimeoutSeconds is how long a plan may make no progress, beyond the grace period of the pods that are leaving,
	// before it is aborted.
	StepTimeoutSeconds float64 `json:"stepTimeoutSeconds,omitempty"`
	// ReadyTimeoutSeconds is how long a plan whose next moves wait for replacements to become ready may make no progress
	// before it is aborted.
	ReadyTimeoutSeconds float64 `json:"readyTimeoutSeconds,omitempty"`
	// HistoryLimit is how many finished PackingPlans are kept.
	HistoryLimit int32 `json:"historyLimit,omitempty"`
	// ProtectedNamespaces are the namespaces whose pods are never disrupted, beside kube-system.
	ProtectedNamespaces []string `json:"protectedNamespaces,omitempty"`
	// NamespaceSelector selects by label the namespaces whose pods may be disrupted; left out, all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// MinPodAgeSeconds is how long a pod must have run before it may be disrupted.
	MinPodAgeSeconds float64 `json:"minPodAgeSeconds,omitempty"`
	// MaxGracePeriodSeconds is the longest grace period of a pod that may be disrupted; 0 means any.
	MaxGracePeriodSeconds float64 `json:"maxGracePeriodSeconds,omitempty"`
	// EvictNotReady allows disruptions of pods that are not ready.
	EvictNotReady bool `json:"evictNotReady,omitempty"`
	// EvictJobs allows disruptions of pods of Jobs; a Job may count that as a failure.
	EvictJobs bool `json:"evictJobs,omitempty"`
	// EvictStatefulSets allows disruptions of pods of StatefulSets that no disruption budget covers.
	EvictStatefulSets bool `json:"evictStatefulSets,omitempty"`
	// EvictSingletons allows disruptions of pods that no disruption budget covers and whose controller has no other
	// ready pod.
	EvictSingletons bool `json:"evictSingletons,omitempty"`
	// EvictLocalStorage allows disruptions of pods with an emptyDir on their node's disk.
	EvictLocalStorage bool `json:"evictLocalStorage,omitempty"`
	// EvictDuringRollout allows disruptions of pods that their controller is about to replace by pods of another template.
	EvictDuringRollout bool `json:"evictDuringRollout,omitempty"`
	// DryRunReplacements has the API server asked, as a dry run, whether it would let the replacements of a plan's pods in.
	// The scheduler must be allowed to create pods.
	DryRunReplacements bool `json:"dryRunReplacements,omitempty"`
	// CoolDownSeconds is how long a workload is left alone after a plan has moved one of its pods.
	CoolDownSeconds float64 `json:"coolDownSeconds,omitempty"`
	// GroupKinds are further groups of other projects of which plans place all pods or none; one with the name of a known
	// kind replaces it.
	GroupKinds []snapshot.GroupKind `json:"groupKinds,omitempty"`
	// Limits bound the disruptions of one plan, and their rate.
	Limits Limits `json:"limits,omitempty"`
}

// Default are the arguments of a profile that says nothing. The chart's values carry the same.
func Default() *PriorityOptimizerArgs {
	return &PriorityOptimizerArgs{
		Socket:              "/run/stowage/optimizer.sock",
		Trigger:             gate.OnUnschedulable,
		SettleSeconds:       0.5,
		IntervalSeconds:     30,
		BatchPods:           99,
		BatchSeconds:        30,
		TimeLimitSeconds:    1,
		MaxTimeLimitSeconds: 60,
		MaxHoldSeconds:      2,
		MaxHoldShare:        0.05,
		Strategy:            "lexicographic",
		Policy:              PolicyStrict,
		Maximize:            packingplan.Pods,
		PlanTimeoutSeconds:  60,
		StepTimeoutSeconds:  20,
		ReadyTimeoutSeconds: 120,
		HistoryLimit:        20,
		MinPodAgeSeconds:    5,
		CoolDownSeconds:     60,
		// Four times what Kubernetes gives to pods that ask for nothing.
		MaxGracePeriodSeconds: 120,

		Limits: Limits{MaxUnavailablePerWorkload: 1, EvictionsPerSecond: 40},
	}
}

var argsKind = pluginargs.Kind{Plugin: gate.Name, APIVersion: APIVersion, Kind: ArgsKind}

// Decode reads the plugin's arguments strictly: unknown and duplicate fields are errors. The result is defaulted
// and valid.
func Decode(object runtime.Object) (*PriorityOptimizerArgs, error) {
	args := Default()
	return args, argsKind.Decode(object, args, &args.TypeMeta, func() field.ErrorList {
		// An empty word is one that was left out.
		usual := Default()
		args.Socket, args.Trigger = cmp.Or(args.Socket, usual.Socket), cmp.Or(args.Trigger, usual.Trigger)
		args.Strategy, args.Policy = cmp.Or(args.Strategy, usual.Strategy), cmp.Or(args.Policy, usual.Policy)
		args.Maximize = cmp.Or(args.Maximize, usual.Maximize)
		return validate(args)
	})
}

// Limits bound the disruptions of one plan, and their rate. 0 is no limit.
type Limits struct {
	// MaxMoves and MaxEvictions are of the whole plan.
	MaxMoves     int32 `json:"maxMoves,omitempty"`
	MaxEvictions int32 `json:"maxEvictions,omitempty"`
	// MaxPerNode, MaxPerNamespace and MaxPerWorkload count moves and evictions together.
	MaxPerNode      int32 `json:"maxPerNode,omitempty"`
	MaxPerNamespace int32 `json:"maxPerNamespace,omitempty"`
	MaxPerWorkload  int32 `json:"maxPerWorkload,omitempty"`
	// MaxUnavailablePerWorkload is how many pods of one workload may be unavailable at a time because they are moved: each
	// from its eviction until its replacement has been ready.
	MaxUnavailablePerWorkload int32 `json:"maxUnavailablePerWorkload,omitempty"`
	// EvictionsPerSecond is the rate at which pods are evicted.
	EvictionsPerSecond float64 `json:"evictionsPerSecond,omitempty"`
}

// Pace is the rate limiter of evictions; its burst is one second's worth.
func (l *Limits) Pace() *rate.Limiter {
	if l.EvictionsPerSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(l.EvictionsPerSecond), max(1, int(l.EvictionsPerSecond)))
}

// OfPlan are the limits on what one plan disrupts.
func (l *Limits) OfPlan() plan.Limits {
	return plan.Limits{
		Moves: int(l.MaxMoves), Evictions: int(l.MaxEvictions), PerNode: int(l.MaxPerNode),
		PerNamespace: int(l.MaxPerNamespace), PerWorkload: int(l.MaxPerWorkload),
	}
}

// Seconds is a duration of the arguments.
func Seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }

// Rules say which pods a profile with these valid arguments may disrupt.
func (a *PriorityOptimizerArgs) Rules(schedulerName string) snapshot.Rules {
	return snapshot.Rules{
		SchedulerName:       schedulerName,
		ProtectedNamespaces: sets.New(a.ProtectedNamespaces...),
		MinAge:              Seconds(a.MinPodAgeSeconds),
		MaxGracePeriod:      Seconds(a.MaxGracePeriodSeconds),
		LocalStorage:        a.EvictLocalStorage,
		KeepJobs:            !a.EvictJobs,
		KeepStatefulSets:    !a.EvictStatefulSets,
		KeepSingletons:      !a.EvictSingletons,
		KeepNotReady:        !a.EvictNotReady,
		KeepRollouts:        !a.EvictDuringRollout,
		Namespaces:          selectorOf(a.NamespaceSelector),
		CountsDevices:       a.Maximize == packingplan.Devices,
		GroupKinds:          snapshot.GroupKinds(a.GroupKinds),
	}
}

// RulesFor are the profile's rules and what the plan asks for beside them.
func RulesFor(record *packingplan.Record, rules snapshot.Rules) snapshot.Rules {
	spec := &record.Spec
	if record.Consolidates() && len(spec.SchedulerNames) > 0 {
		rules.Schedulers = sets.New(spec.SchedulerNames...)
	}
	// Nothing waits for such a plan, so that its evictions can.
	rules.InTurn = record.Consolidates()
	if spec.Maximize != "" {
		rules.CountsDevices = spec.Maximize == packingplan.Devices
	}
	rules.CountsDevices = rules.CountsDevices && !record.Consolidates()
	rules.Scope = snapshot.Scope{Nodes: selectorOf(spec.NodeSelector), Namespaces: selectorOf(spec.NamespaceSelector)}
	return rules
}

// selectorOf is nil where nothing is selected.
func selectorOf(of *metav1.LabelSelector) labels.Selector {
	if of == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return labels.Nothing() // fail closed
	}
	return selector
}

// maxSocketPath is what sockaddr_un holds, less its closing zero byte.
const maxSocketPath = 107

const (
	maxSeconds      = 86400.0
	maxSettle       = 3600.0
	MaxHold         = 60.0
	maxWorkers      = 1024
	maxHistoryLimit = 1000
	maxBatchPods    = 100_000
)

var (
	triggers     = []gate.TriggerType{gate.Manual, gate.OnUnschedulable, gate.Periodic, gate.Batch}
	policies     = []Policy{PolicyStrict, PolicyPaper}
	maximized    = []packingplan.Maximized{packingplan.Pods, packingplan.Devices}
	strategyName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`)
)

// validate reports every invalid value of defaulted arguments at once.
func validate(args *PriorityOptimizerArgs) field.ErrorList {
	errs := validateWords(args)
	within := func(name string, value, least, most float64, unit string) {
		if math.IsNaN(value) || value < least || value > most {
			errs = append(errs, field.Invalid(field.NewPath(name), value,
				"must lie between "+number(least)+" and "+number(most)+unit))
		}
	}
	seconds := func(name string, value, least, most float64) { within(name, value, least, most, " seconds") }
	seconds("settleSeconds", args.SettleSeconds, 0, maxSettle)
	seconds("intervalSeconds", args.IntervalSeconds, 1, maxSeconds)
	seconds("batchSeconds", args.BatchSeconds, 0.1, maxSettle)
	seconds("timeLimitSeconds", args.TimeLimitSeconds, 0.05, maxSettle)
	seconds("maxTimeLimitSeconds", args.MaxTimeLimitSeconds, 0.05, maxSettle)
	seconds("maxHoldSeconds", args.MaxHoldSeconds, 0.1, MaxHold)
	seconds("planTimeoutSeconds", args.PlanTimeoutSeconds, 1, maxSeconds)
	seconds("stepTimeoutSeconds", args.StepTimeoutSeconds, 1, maxSeconds)
	seconds("readyTimeoutSeconds", args.ReadyTimeoutSeconds, 1, maxSeconds)
	seconds("minPodAgeSeconds", args.MinPodAgeSeconds, 0, maxSeconds)
	seconds("maxGracePeriodSeconds", args.MaxGracePeriodSeconds, 0, maxSeconds)
	seconds("coolDownSeconds", args.CoolDownSeconds, 0, maxSeconds)
	within("maxHoldShare", args.MaxHoldShare, 0, 1, "")
	within("batchPods", float64(args.BatchPods), 1, maxBatchPods, "")
	within("workers", float64(args.Workers), 0, maxWorkers, "")
	within("historyLimit", float64(args.HistoryLimit), 1, maxHistoryLimit, "")
	if args.Seed < 0 {
		errs = append(errs, field.Invalid(field.NewPath("seed"), args.Seed, "must not be negative"))
	}
	limit := func(name string, value float64) {
		if math.IsNaN(value) || value < 0 {
			errs = append(errs, field.Invalid(field.NewPath("limits", name), value, "must not be negative; 0 is no limit"))
		}
	}
	limit("maxMoves", float64(args.Limits.MaxMoves))
	limit("maxEvictions", float64(args.Limits.MaxEvictions))
	limit("maxPerNode", float64(args.Limits.MaxPerNode))
	limit("maxPerNamespace", float64(args.Limits.MaxPerNamespace))
	limit("maxPerWorkload", float64(args.Limits.MaxPerWorkload))
	limit("maxUnavailablePerWorkload", float64(args.Limits.MaxUnavailablePerWorkload))
	limit("evictionsPerSecond", args.Limits.EvictionsPerSecond)
	return errs
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

func validateWords(args *PriorityOptimizerArgs) field.ErrorList {
	var errs field.ErrorList
	socket := field.NewPath("socket")
	if !filepath.IsAbs(args.Socket) {
		errs = append(errs, field.Invalid(socket, args.Socket, "must be an absolute path"))
	}
	if len(args.Socket) > maxSocketPath {
		errs = append(errs, field.TooLong(socket, "", maxSocketPath))
	}
	if !slices.Contains(triggers, args.Trigger) {
		errs = append(errs, field.NotSupported(field.NewPath("trigger"), args.Trigger, triggers))
	}
	if !slices.Contains(policies, args.Policy) {
		errs = append(errs, field.NotSupported(field.NewPath("policy"), args.Policy, policies))
	}
	if !slices.Contains(maximized, args.Maximize) {
		errs = append(errs, field.NotSupported(field.NewPath("maximize"), args.Maximize, maximized))
	}
	if !strategyName.MatchString(args.Strategy) {
		errs = append(errs, field.Invalid(field.NewPath("strategy"), args.Strategy,
			"must consist of lower-case letters, digits, '-' and '_', for example paper"))
	}
	if _, err := metav1.LabelSelectorAsSelector(args.NamespaceSelector); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("namespaceSelector"), args.NamespaceSelector, err.Error()))
	}
	for i, namespace := range args.ProtectedNamespaces {
		for _, message := range validation.IsDNS1123Label(namespace) {
			errs = append(errs, field.Invalid(field.NewPath("protectedNamespaces").Index(i), namespace, message))
		}
	}
	return append(errs, validateGroupKinds(args.GroupKinds)...)
}

func validateGroupKinds(kinds []snapshot.GroupKind) field.ErrorList {
	var errs field.ErrorList
	for i, kind := range kinds {
		at := field.NewPath("groupKinds").Index(i)
		for _, message := range validation.IsDNS1123Subdomain(strings.ToLower(kind.Name)) {
			errs = append(errs, field.Invalid(at.Child("name"), kind.Name, message))
		}
		for j, key := range kind.Labels {
			for _, message := range validation.IsQualifiedName(key) {
				errs = append(errs, field.Invalid(at.Child("labels").Index(j), key, message))
			}
		}
		for _, message := range validation.IsQualifiedName(kind.SizeAnnotation) {
			if kind.SizeAnnotation != "" {
				errs = append(errs, field.Invalid(at.Child("sizeAnnotation"), kind.SizeAnnotation, message))
			}
		}
	}
	return errs
}
