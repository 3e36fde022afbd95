"""Settings of a recovery run; the defaults are the second paper's (5.2.2, 5.3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from stowage_testbed.hpa.model.sla import Sla
from stowage_testbed.hpa.model.web_service import WebService


@dataclass(frozen=True, slots=True)
class Find:
    """FIND: the load is raised until the SLA breaks.

    Attributes
    ----------
    start, most, step
        Clients of the first level, of the last one, and between two levels.
    level_s
        Seconds of each level.
    """

    start: int = 10
    most: int = 100
    step: int = 10
    level_s: float = 30.0

    def __post_init__(self) -> None:
        if not 1 <= self.start <= self.most or self.step < 1 or not self.level_s > 0:
            raise ValueError(f"{self} has no level: 1 <= start <= most, step >= 1")


@dataclass(frozen=True, slots=True)
class Hold:
    """HOLD: the load stays, and the time to recovery is measured.

    Attributes
    ----------
    total_s, window_s
        Length of the phase and of each window that is judged.
    streak
        Consecutive windows within the SLA that count as recovery.
    whole
        Go on to the end; without, the first recovery ends it.
    """

    total_s: float = 900.0
    window_s: float = 30.0
    streak: int = 1
    whole: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.window_s <= self.total_s or self.streak < 1:
            raise ValueError(f"{self} has no window: 0 < window_s <= total_s needed")


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """The HorizontalPodAutoscaler's object; the scale-up policy is Kubernetes' own.

    Attributes
    ----------
    target_percent
        Mean CPU usage that it aims at, in percent of what the pods request.
    scale_up_percent, scale_up_pods, scale_up_period_s
        The larger of the two is what it may add within the period.
    """

    min_replicas: int = 3
    max_replicas: int = 20
    target_percent: int = 50
    scale_up_percent: int = 100
    scale_up_pods: int = 4
    scale_up_period_s: int = 15

    def __post_init__(self) -> None:
        if not 1 <= self.min_replicas <= self.max_replicas:
            raise ValueError(f"{self}: 1 <= min_replicas <= max_replicas needed")


@dataclass(frozen=True, slots=True)
class Timing:
    """How often usage is measured and acted upon; the defaults are the upstream ones.

    Attributes
    ----------
    resolution_s
        Seconds between two scrapes of metrics-server, 10 at least.
    sync_s
        Seconds between two looks of the autoscaler.
    """

    resolution_s: int = 15
    sync_s: int = 15


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """Everything that decides a run, apart from the cluster and the scheduler.

    Attributes
    ----------
    aligned
        Start the load just after a scrape: by chance, it would come anywhere between
        two of them, and runs would differ by up to a period for that reason alone.
    """

    service: WebService = field(default_factory=WebService)
    sla: Sla = field(default_factory=Sla)
    autoscaling: Autoscaling = field(default_factory=Autoscaling)
    find: Find = field(default_factory=Find)
    hold: Hold = field(default_factory=Hold)
    timing: Timing = field(default_factory=Timing)
    aligned: bool = True

    def document(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the settings of a document; what it leaves out has its default.

        Raises
        ------
        TypeError
            It names something that is no setting.
        ValueError
            A setting is out of range.
        """
        parts = {
            "service": WebService,
            "sla": Sla,
            "autoscaling": Autoscaling,
            "find": Find,
            "hold": Hold,
            "timing": Timing,
        }
        values = {
            name: parts[name](**value) if name in parts else value
            for name, value in document.items()
        }
        return cls(**values)


FULL = RecoverySettings()
"""The second paper's run: 15 minutes of HOLD and every component at its defaults."""
