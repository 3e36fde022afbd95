package config

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
)

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
	triggers     = []gate.TriggerKind{gate.Manual, gate.OnUnschedulable, gate.Periodic, gate.Batch}
	policies     = []Policy{PolicyStrict, PolicyPaper}
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
	return append(errs, args.Limits.validate(field.NewPath("limits"))...)
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
	return errs
}
