"""Settings of a recovery run; the defaults are the second paper's (5.2.2, 5.3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Self

from stowage_testbed.declaration import make_object, setting
from stowage_testbed.hpa.model.load_window import Sla
from stowage_testbed.hpa.model.web_service import WebService

_CLIENTS = {"minimum": 1, "maximum": 100000}
_REPLICAS = {"minimum": 1, "maximum": 10000}


@dataclass(frozen=True, slots=True)
class Find:
    """FIND: the load is raised until the SLA breaks."""

    start: Annotated[int, setting("Clients of the first level.", **_CLIENTS)] = 10
    most: Annotated[int, setting("Clients of the last level.", **_CLIENTS)] = 100
    step: Annotated[int, setting("Clients that each level has more than the one before.", **_CLIENTS)] = 10
    level_s: Annotated[float, setting("Seconds of each level.", exclusiveMinimum=0, maximum=3600)] = 30.0

    def __post_init__(self) -> None:
        if not 1 <= self.start <= self.most or self.step < 1 or not self.level_s > 0:
            raise ValueError(f"{self} has no level: 1 <= start <= most, step >= 1")


@dataclass(frozen=True, slots=True)
class Hold:
    """HOLD: the load stays, and the time to recovery is measured."""

    total_s: Annotated[float, setting("Seconds of the phase.", exclusiveMinimum=0, maximum=86400)] = 900.0
    window_s: Annotated[float, setting("Seconds of each window that is judged.", exclusiveMinimum=0, maximum=3600)] = (
        30.0
    )
    streak: Annotated[int, setting("Windows in a row within the SLA that count as recovery.", minimum=1)] = 1
    whole: Annotated[bool, setting("Go on to the end; if not, the first recovery ends it.")] = True

    def __post_init__(self) -> None:
        if not 0 < self.window_s <= self.total_s or self.streak < 1:
            raise ValueError(f"{self} has no window: 0 < window_s <= total_s needed")


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """The HorizontalPodAutoscaler's object; the scale-up policy is Kubernetes' own."""

    min_replicas: Annotated[int, setting("Replicas that the service begins with.", **_REPLICAS)] = 3
    max_replicas: Annotated[int, setting("Most replicas.", **_REPLICAS)] = 20
    target_percent: Annotated[
        int, setting("CPU usage that it aims at, in percent of what the pods ask for.", minimum=1, maximum=1000)
    ] = 50
    scale_up_percent: Annotated[
        int, setting("Share of the replicas that it may add within the period.", minimum=1, maximum=100000)
    ] = 100
    scale_up_pods: Annotated[int, setting("Pods that it may add within the period, if that is more.", **_REPLICAS)] = 4
    scale_up_period_s: Annotated[int, setting("Seconds of that period.", minimum=1, maximum=1800)] = 15

    def __post_init__(self) -> None:
        if not 1 <= self.min_replicas <= self.max_replicas:
            raise ValueError(f"{self}: 1 <= min_replicas <= max_replicas needed")


@dataclass(frozen=True, slots=True)
class Timing:
    """How often usage is measured and acted upon; the defaults are upstream's."""

    resolution_s: Annotated[int, setting("Seconds between two scrapes of metrics-server.", minimum=10, maximum=600)] = (
        15
    )
    sync_s: Annotated[int, setting("Seconds between two looks of the autoscaler.", minimum=1, maximum=600)] = 15


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """Everything that decides a run, apart from the cluster and the scheduler.

    Without ``aligned`` the load would start anywhere between two scrapes, and runs
    would differ by up to a period for that reason alone.
    """

    service: Annotated[WebService, setting("What a request costs, and what a replica may use.")] = field(
        default_factory=WebService
    )
    sla: Annotated[Sla, setting("What the service promises.")] = field(default_factory=Sla)
    autoscaling: Annotated[Autoscaling, setting("The HorizontalPodAutoscaler.")] = field(default_factory=Autoscaling)
    find: Annotated[Find, setting("FIND: the load is raised until the SLA breaks.")] = field(default_factory=Find)
    hold: Annotated[Hold, setting("HOLD: the load stays, and the time to recovery is measured.")] = field(
        default_factory=Hold
    )
    timing: Annotated[
        Timing, setting("How often usage is measured and acted upon; the run's cluster is brought up with it.")
    ] = field(default_factory=Timing)
    aligned: Annotated[bool, setting("Start the load just after a scrape, so that runs do not differ by chance.")] = (
        True
    )

    def document(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the settings of a document; what it leaves out has its default.

        Raises a TypeError for what is no setting, and a ValueError for one out of range.
        """
        return make_object(cls, document)


FULL = RecoverySettings()
"""The second paper's run: 15 minutes of HOLD and every component at its defaults."""
