package priorityoptimizer

import (
	"math"
	"path/filepath"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxSocketPath is what sockaddr_un holds, less its closing zero byte.
const maxSocketPath = 107

const (
	maxSeconds      = 86400.0
	maxSettle       = 3600.0
	maxHold         = 60.0
	maxWorkers      = 1024
	maxHistoryLimit = 1000
	maxBatchPods    = 100_000
)

var strategyName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`)

// Validate reports every invalid value of defaulted arguments at once.
func Validate(args *PriorityOptimizerArgs) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateSocket(args.Socket)...)
	errs = append(errs, validateChoices(args)...)
	errs = append(errs, validateNumbers(args)...)
	errs = append(errs, args.Limits.validate(field.NewPath("limits"))...)
	if _, err := metav1.LabelSelectorAsSelector(args.NamespaceSelector); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("namespaceSelector"), args.NamespaceSelector, err.Error()))
	}
	for i, namespace := range args.ProtectedNamespaces {
		for _, message := range validation.IsDNS1123Label(namespace) {
			path := field.NewPath("protectedNamespaces").Index(i)
			errs = append(errs, field.Invalid(path, namespace, message))
		}
	}
	return errs
}

func validateSocket(socket string) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("socket")
	if !filepath.IsAbs(socket) {
		errs = append(errs, field.Invalid(path, socket, "must be an absolute path"))
	}
	if len(socket) > maxSocketPath {
		errs = append(errs, field.TooLong(path, "", maxSocketPath))
	}
	return errs
}

func validateChoices(args *PriorityOptimizerArgs) field.ErrorList {
	var errs field.ErrorList
	switch args.Mode {
	case ModeManual, ModeOnUnschedulable, ModePeriodic, ModeBatch:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("mode"), args.Mode,
			[]Mode{ModeManual, ModeOnUnschedulable, ModePeriodic, ModeBatch}))
	}
	switch args.Policy {
	case PolicyStrict, PolicyPaper:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("policy"), args.Policy,
			[]Policy{PolicyStrict, PolicyPaper}))
	}
	if !strategyName.MatchString(args.Strategy) {
		errs = append(errs, field.Invalid(field.NewPath("strategy"), args.Strategy,
			"must consist of lower-case letters, digits, '-' and '_', for example paper"))
	}
	return errs
}

func validateNumbers(args *PriorityOptimizerArgs) field.ErrorList {
	var errs field.ErrorList
	seconds := func(name string, value, least, most float64) {
		if math.IsNaN(value) || value < least || value > most {
			errs = append(errs, field.Invalid(field.NewPath(name), value,
				rangeMessage(least, most)+" seconds"))
		}
	}
	seconds("settleSeconds", *args.SettleSeconds, 0, maxSettle)
	seconds("intervalSeconds", *args.IntervalSeconds, 1, maxSeconds)
	seconds("batchSeconds", *args.BatchSeconds, 0.1, maxSettle)
	seconds("timeLimitSeconds", *args.TimeLimitSeconds, 0.05, maxSettle)
	seconds("maxTimeLimitSeconds", *args.MaxTimeLimitSeconds, 0.05, maxSettle)
	seconds("maxHoldSeconds", *args.MaxHoldSeconds, 0.1, maxHold)
	if share := *args.MaxHoldShare; math.IsNaN(share) || share < 0 || share > 1 {
		errs = append(errs, field.Invalid(field.NewPath("maxHoldShare"), share, rangeMessage(0, 1)))
	}
	seconds("planTimeoutSeconds", *args.PlanTimeoutSeconds, 1, maxSeconds)
	seconds("stepTimeoutSeconds", *args.StepTimeoutSeconds, 1, maxSeconds)
	seconds("minPodAgeSeconds", *args.MinPodAgeSeconds, 0, maxSeconds)
	seconds("maxGracePeriodSeconds", *args.MaxGracePeriodSeconds, 0, maxSeconds)
	seconds("coolDownSeconds", *args.CoolDownSeconds, 0, maxSeconds)
	if *args.BatchPods < 1 || *args.BatchPods > maxBatchPods {
		errs = append(errs, field.Invalid(field.NewPath("batchPods"), *args.BatchPods,
			rangeMessage(1, maxBatchPods)))
	}
	if *args.Workers < 0 || *args.Workers > maxWorkers {
		errs = append(errs, field.Invalid(field.NewPath("workers"), *args.Workers,
			rangeMessage(0, maxWorkers)))
	}
	if *args.Seed < 0 {
		errs = append(errs, field.Invalid(field.NewPath("seed"), *args.Seed, "must not be negative"))
	}
	if *args.HistoryLimit < 1 || *args.HistoryLimit > maxHistoryLimit {
		errs = append(errs, field.Invalid(field.NewPath("historyLimit"), *args.HistoryLimit,
			rangeMessage(1, maxHistoryLimit)))
	}
	return errs
}
