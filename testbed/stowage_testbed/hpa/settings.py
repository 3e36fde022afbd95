"""Settings of a recovery run; the defaults are the second paper's (5.2.2, 5.3.2)."""

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Interval

from stowage_testbed.hpa.model import Sla, WebService

Clients = Annotated[int, Interval(ge=1, le=100000)]
Replicas = Annotated[int, Interval(ge=1, le=10000)]


@dataclass(frozen=True, slots=True)
class Find:
    """FIND: the load is raised until the SLA breaks."""

    start: Clients = 10
    """Clients of the first level."""
    most: Clients = 100
    """Clients of the last level."""
    step: Clients = 10
    """Clients that each level has more than the one before."""
    level_s: Annotated[float, Interval(gt=0, le=3600)] = 30.0
    """Seconds of each level."""

    def __post_init__(self) -> None:
        if not 1 <= self.start <= self.most or self.step < 1 or not self.level_s > 0:
            raise ValueError(f"{self} has no level: 1 <= start <= most, step >= 1")


@dataclass(frozen=True, slots=True)
class Hold:
    """HOLD: the load stays, and the time to recovery is measured."""

    total_s: Annotated[float, Interval(gt=0, le=86400)] = 900.0
    """Seconds of the phase."""
    window_s: Annotated[float, Interval(gt=0, le=3600)] = 30.0
    """Seconds of each window that is judged."""
    streak: Annotated[int, Interval(ge=1)] = 1
    """Windows in a row within the SLA that count as recovery."""
    whole: bool = True
    """Go on to the end; if not, the first recovery ends it."""

    def __post_init__(self) -> None:
        if not 0 < self.window_s <= self.total_s or self.streak < 1:
            raise ValueError(f"{self} has no window: 0 < window_s <= total_s needed")


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """The HorizontalPodAutoscaler's object; the scale-up policy is Kubernetes' own."""

    min_replicas: Replicas = 3
    """Replicas that the service begins with."""
    max_replicas: Replicas = 20
    """Most replicas."""
    target_percent: Annotated[int, Interval(ge=1, le=1000)] = 50
    """CPU usage that it aims at, in percent of what the pods ask for."""
    scale_up_percent: Annotated[int, Interval(ge=1, le=100000)] = 100
    """Share of the replicas that it may add within the period."""
    scale_up_pods: Replicas = 4
    """Pods that it may add within the period, if that is more."""
    scale_up_period_s: Annotated[int, Interval(ge=1, le=1800)] = 15
    """Seconds of that period."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_replicas <= self.max_replicas:
            raise ValueError(f"{self}: 1 <= min_replicas <= max_replicas needed")


@dataclass(frozen=True, slots=True)
class Timing:
    """How often usage is measured and acted upon; the defaults are upstream's."""

    resolution_s: Annotated[int, Interval(ge=10, le=600)] = 15
    """Seconds between two scrapes of metrics-server."""
    sync_s: Annotated[int, Interval(ge=1, le=600)] = 15
    """Seconds between two looks of the autoscaler."""


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """Everything that decides a run, apart from the cluster and the scheduler.

    Without ``aligned`` the load would start anywhere between two scrapes, and runs would differ by up to a period for
    that reason alone.
    """

    service: WebService = field(default_factory=WebService)
    """What a request costs, and what a replica may use."""
    sla: Sla = field(default_factory=Sla)
    """What the service promises."""
    autoscaling: Autoscaling = field(default_factory=Autoscaling)
    """The HorizontalPodAutoscaler."""
    find: Find = field(default_factory=Find)
    """FIND: the load is raised until the SLA breaks."""
    hold: Hold = field(default_factory=Hold)
    """HOLD: the load stays, and the time to recovery is measured."""
    timing: Timing = field(default_factory=Timing)
    """How often usage is measured and acted upon; the run's cluster is brought up with it."""
    aligned: bool = True
    """Start the load just after a scrape, so that runs do not differ by chance."""
