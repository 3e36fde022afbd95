"""Where a pod's containers run, and what they find there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from testbed.hostpods.backoff import BackoffLimits
from testbed.hostpods.clock import LoopClock
from testbed.hostpods.environment import Surroundings
from testbed.hostpods.mounts import Mounts


@dataclass(frozen=True, slots=True)
class Place:
    """The pod's folder, with its volumes, and the node around it."""

    folder: Path
    mounts: Mounts
    around: Surroundings
    clock: LoopClock
    backoff: BackoffLimits
