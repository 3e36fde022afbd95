package priorityoptimizer

// Defaults of PriorityOptimizerArgs. The chart's values carry the same ones.
const (
	DefaultSocket              = "/run/stowage/optimizer.sock"
	DefaultMode                = ModeOnUnschedulable
	DefaultSettleSeconds       = 0.5
	DefaultIntervalSeconds     = 30.0
	DefaultBatchPods           = int32(99)
	DefaultBatchSeconds        = 30.0
	DefaultTimeLimitSeconds    = 1.0
	DefaultMaxTimeLimitSeconds = 60.0
	DefaultMaxHoldSeconds      = 2.0
	DefaultMaxHoldShare        = 0.05
	DefaultStrategy            = "lexicographic"
	DefaultPolicy              = PolicyStrict
	DefaultWorkers             = int32(0)
	DefaultSeed                = int64(0)
	DefaultDeterministic       = false
	DefaultPlanTimeoutSeconds  = 60.0
	DefaultStepTimeoutSeconds  = 20.0
	DefaultHistoryLimit        = int32(20)
	DefaultMinPodAgeSeconds    = 5.0
	DefaultEvictLocalStorage   = false
	DefaultEvictNotReady       = false
	DefaultEvictJobs           = false
	DefaultEvictStatefulSets   = false
	DefaultEvictSingletons     = false
	DefaultCoolDownSeconds     = 60.0

	// DefaultMaxGracePeriodSeconds is four times what Kubernetes gives to pods that ask for nothing.
	DefaultMaxGracePeriodSeconds = 120.0
)

// SetDefaults fills every field that was left out.
func SetDefaults(args *PriorityOptimizerArgs) {
	setDefault(&args.Socket, DefaultSocket)
	setDefault(&args.Mode, DefaultMode)
	setDefault(&args.Strategy, DefaultStrategy)
	setDefault(&args.Policy, DefaultPolicy)
	setDefaultPointer(&args.SettleSeconds, DefaultSettleSeconds)
	setDefaultPointer(&args.IntervalSeconds, DefaultIntervalSeconds)
	setDefaultPointer(&args.BatchPods, DefaultBatchPods)
	setDefaultPointer(&args.BatchSeconds, DefaultBatchSeconds)
	setDefaultPointer(&args.TimeLimitSeconds, DefaultTimeLimitSeconds)
	setDefaultPointer(&args.MaxTimeLimitSeconds, DefaultMaxTimeLimitSeconds)
	setDefaultPointer(&args.MaxHoldSeconds, DefaultMaxHoldSeconds)
	setDefaultPointer(&args.MaxHoldShare, DefaultMaxHoldShare)
	setDefaultPointer(&args.Workers, DefaultWorkers)
	setDefaultPointer(&args.Seed, DefaultSeed)
	setDefaultPointer(&args.Deterministic, DefaultDeterministic)
	setDefaultPointer(&args.PlanTimeoutSeconds, DefaultPlanTimeoutSeconds)
	setDefaultPointer(&args.StepTimeoutSeconds, DefaultStepTimeoutSeconds)
	setDefaultPointer(&args.HistoryLimit, DefaultHistoryLimit)
	setDefaultPointer(&args.MinPodAgeSeconds, DefaultMinPodAgeSeconds)
	setDefaultPointer(&args.MaxGracePeriodSeconds, DefaultMaxGracePeriodSeconds)
	setDefaultPointer(&args.EvictNotReady, DefaultEvictNotReady)
	setDefaultPointer(&args.EvictJobs, DefaultEvictJobs)
	setDefaultPointer(&args.EvictStatefulSets, DefaultEvictStatefulSets)
	setDefaultPointer(&args.EvictSingletons, DefaultEvictSingletons)
	setDefaultPointer(&args.EvictLocalStorage, DefaultEvictLocalStorage)
	setDefaultPointer(&args.CoolDownSeconds, DefaultCoolDownSeconds)
	args.Limits.setDefaults()
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setDefaultPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
