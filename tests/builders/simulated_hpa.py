"""A service whose autoscaler and clock are simulated: the phases' load target.

Follows the autoscaler's published rule, and acts when there is a new reading: at every
scrape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from stowage_testbed.hpa.model.load_window import Segment
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.hpa.timeline import PodCount, segments


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
        allowed = max(
            now * (100 + plan.scale_up_percent) // 100, now + plan.scale_up_pods
        )
        after = max(now, min(wanted, allowed, plan.max_replicas))
        if after != now:
            self.counts.append(PodCount(self.clock_s, after, after))
