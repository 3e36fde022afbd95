package snapshot

// Reasons why a running pod may not be disturbed.
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
	DisruptionBudget   = "disruption-budget"
	NotStarted         = "not-started"
	TooYoung           = "too-young"
	CoolingDown        = "cooling-down"
)
