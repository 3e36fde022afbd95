"""Steps that create pods one by one, when they are to come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Gt, Interval, Le

from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.arrivals.recorded import RecordedReplay
from stowage_testbed.scenario.steps.action import Action, Demand
from stowage_testbed.scenario.types import Filled, Hidden, Of, Some


@dataclass(frozen=True, slots=True)
class Burst(Action):
    """Create pods like a workload's one by one, without a controller."""

    kind = "burst"
    deadline = "lateness"
    workload: Annotated[str, Of("template")]
    """The workload that says what the pods are like; it is not applied besides."""
    pods: Annotated[int, Interval(ge=1, le=100000)]
    """How many."""
    arrival: ArrivalProcess = field(default_factory=ArrivalProcess)
    """When each of them comes; without it all come at once."""
    lifetime: Lifetime | None = None
    """How long each of them runs; without it none is ever done."""

    def ask(self, demand: Demand) -> None:
        demand.add(self.workload, self.pods)

    @property
    def brings(self) -> tuple[str, ...]:
        return (self.workload,)


@dataclass(frozen=True, slots=True)
class Replay(Action):
    """Replay what `stowage record` wrote, at the times at which it happened.

    A trace brings pods, controllers, scalings, ends and budgets; if the scenario has no
    nodes, it brings those too.

    Attributes
    ----------
    recorded
        What the file says; none while the scenario's own file is read.
    """

    kind = "replay"
    deadline = "lateness"
    file: Filled
    """A .jsonl.gz or .jsonl file, relative to this one."""
    speed: Annotated[float, Gt(0), Le(1000000)] = 1.0
    """How many times as fast as it was recorded."""
    limit: Some | None = None
    """Only so many pods, the first ones; without it all."""
    placed: Literal["by-the-scheduler", "as-recorded"] = "by-the-scheduler"
    """Who gives those pods a node that had one when recording began; as recorded they are bound past the scheduler."""
    recorded: Annotated[RecordedReplay | None, Hidden()] = field(default=None, repr=False)

    @property
    def owners(self) -> list[str]:
        """The owners of its pods, each once."""
        return list(self.recorded.left) if self.recorded else []

    def ask(self, demand: Demand) -> None:
        for name, count in (self.recorded.left if self.recorded else {}).items():
            demand.add(name, count)

    @property
    def brings(self) -> Iterable[str]:
        return self.owners
