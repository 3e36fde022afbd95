"""Where a pod's containers run, and what they find there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.hostpods.backoff import BackoffLimits
from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.environment import NodeEnvironment
from stowage_testbed.hostpods.mounts import Mounts


@dataclass(frozen=True, slots=True)
class PodSandbox:
    """The pod's folder, with its volumes, and the node around it."""

    folder: Path
    mounts: Mounts
    node: NodeEnvironment
    clock: LoopClock
    backoff: BackoffLimits
