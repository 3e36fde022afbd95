package snapshot

// Reasons why a running pod may not be disrupted.
const (
	Terminating        = "terminating"
	Binding            = "binding"
	ForeignScheduler   = "foreign-scheduler"
	ProtectedNamespace = "protected-namespace"
	SystemCritical     = "system-critical"
	Mirror             = "mirror"
	Static             = "static"
	Bare               = "bare"
	DaemonSet          = "daemonset"
	UnknownController  = "unknown-controller"
	OptedOut           = "opted-out"
	LocalStorage       = "local-storage"
	Unsupported        = "unsupported"
	Job                = "job"
	StatefulSet        = "statefulset"
	Singleton          = "singleton"
	LongGracePeriod    = "long-grace-period"
	DisruptionBudget   = "disruption-budget"
	NotStarted         = "not-started"
	NotReady           = "not-ready"
	TooYoung           = "too-young"
	CoolingDown        = "cooling-down"
)
