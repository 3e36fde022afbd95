"""A simulated service with its autoscaler and clock, and recovery runs on it.

The autoscaler follows the published rule, and acts when there is a new reading: at every scrape.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from stowage_testbed.hpa.model import Segment
from stowage_testbed.hpa.recovery import HpaRecord, PodCount, Replicas, find, hold, segments
from stowage_testbed.hpa.settings import Autoscaling, Find, Hold, RecoverySettings, Timing

FULL = RecoverySettings()
"""The second paper's run: 15 minutes of HOLD and every component at its defaults."""

QUICK = RecoverySettings(
    autoscaling=Autoscaling(scale_up_percent=900, scale_up_period_s=1),
    find=Find(start=6, most=12, step=3, level_s=6.0),
    hold=Hold(total_s=60.0, window_s=5.0, whole=False),
    timing=Timing(resolution_s=10, sync_s=1),
)
"""Short windows, no limit on scaling up, and the shortest periods there are."""


@dataclass
class SimulatedHpa:
    """Time passes only in `await_change`."""

    settings: RecoverySettings
    clock_s: float = 0.0
    cpu_milli: int = 0
    usages: list[tuple[float, int]] = field(default_factory=list)
    counts: list[PodCount] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self.settings.autoscaling.min_replicas
        self.counts.append(PodCount(-1.0, first, first))

    def now_s(self) -> float:
        return self.clock_s

    def ready(self) -> int:
        return self.counts[-1].ready

    def use_cpu(self, cpu_milli: int) -> None:
        self.cpu_milli = cpu_milli
        self.usages.append((self.clock_s, cpu_milli))

    def await_change(self, ready: int, until_s: float) -> None:
        """Go on to the next scrape, or to ``until_s`` if that is earlier."""
        if self.ready() != ready:
            return
        period_s = self.settings.timing.resolution_s
        scrape_s = (math.floor(self.clock_s / period_s) + 1) * period_s
        self.clock_s = min(scrape_s, until_s)
        if self.clock_s == scrape_s:
            self._scale()

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        return segments(self.counts, start_s, end_s)

    def _scale(self) -> None:
        plan, now = self.settings.autoscaling, self.ready()
        target_milli = self.settings.service.request_milli * plan.target_percent / 100
        wanted = math.ceil(now * self.cpu_milli / target_milli)
        allowed = max(now * (100 + plan.scale_up_percent) // 100, now + plan.scale_up_pods)
        after = max(now, min(wanted, allowed, plan.max_replicas))
        if after != now:
            self.counts.append(PodCount(self.clock_s, after, after))


def hpa_record(settings: RecoverySettings = FULL) -> HpaRecord:
    """Return the record of a run whose autoscaler reads what the pods use."""
    target = SimulatedHpa(settings)
    levels = find(target, settings)
    windows = hold(target, settings, levels[-1].clients)
    return HpaRecord(
        settings=settings,
        find=levels,
        hold=windows,
        replicas=tuple(Replicas(count.at_s, count.ready, count.ready, 208) for count in target.counts),
        pods=tuple(target.counts),
    )
