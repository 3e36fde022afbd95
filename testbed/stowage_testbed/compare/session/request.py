"""What a comparison is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from stowage_testbed.run.arm import Arm, ClientLimits
from stowage_testbed.scenario.model import Scenario

LimitsKind = Literal["own", "equal"]
"""Each scheduler's own client limits, or the same ones for all."""

EQUAL = ClientLimits(qps=1000, burst=1000)
"""High enough that the API server of one machine is slower."""


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """One scenario, several schedulers, so many rounds.

    Attributes
    ----------
    scenario
        One with steps and a measured window.
    arms
        The first is what the others are compared with.
    limits
        In the order in which they are run, with what `equal` means.
    folder
        Of the results; a comparison that is there already is resumed.
    warm_up
        Pods that every scheduler places before its window opens; 0 measures it cold.
    allow_unfair
        Compare arms also where they differ in more than how they place pods.
    cluster
        Name of a cluster that is up; ``None`` makes one.
    """

    scenario: Scenario
    arms: tuple[Arm, ...]
    folder: Path
    rounds: int = 3
    limits: Mapping[LimitsKind, ClientLimits | None] = field(
        default_factory=lambda: {"equal": EQUAL}
    )
    seed: int = 1
    warm_up: int = 50
    allow_unfair: bool = False
    cluster: str | None = None

    @property
    def arms_by_name(self) -> Mapping[str, Arm]:
        """The arms by name."""
        return {arm.name: arm for arm in self.arms}
