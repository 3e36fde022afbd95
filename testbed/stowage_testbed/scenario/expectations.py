"""What a scenario expects, as values: of one moment, of the optimiser, of metrics.

`schema.yaml` says what each of them means. ``None`` is not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bounds:
    """An inclusive range of whole numbers; one number is the range from it to it."""

    minimum: int | None = None
    maximum: int | None = None

    def holds(self, value: int) -> bool:
        """Return whether ``value`` lies in the range."""
        if self.minimum is not None and value < self.minimum:
            return False
        return self.maximum is None or value <= self.maximum

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return str(self.minimum)
        if self.maximum is None:
            return f"at least {self.minimum}"
        if self.minimum is None:
            return f"at most {self.maximum}"
        return f"{self.minimum} to {self.maximum}"


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """What must hold of the pods and nodes at a settled moment.

    ``pending`` is exhaustive: a workload that is not named has no pod without a node.
    ``groups`` has a list of workload names, one a pod, for each node with pods.
    """

    placed: Bounds | None = None
    pending: Mapping[str, int] | None = None
    placements: Mapping[str, tuple[str, ...]] | None = None
    groups: tuple[tuple[str, ...], ...] | None = None
    placed_by_priority: Mapping[int, Bounds] | None = None
    utilisation: Mapping[str, float] | None = None
    pods_per_node: Bounds | None = None


@dataclass(frozen=True, slots=True)
class ExpectedOptimizer:
    """What must hold after the optimiser, over all plans; `phases` is exhaustive."""

    state: ExpectedState = ExpectedState()
    moves: Bounds | None = None
    evictions: Bounds | None = None
    optimal: bool | None = None
    solves: Bounds | None = None
    phases: Mapping[str, int] | None = None
    utilisation_delta: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """What must hold of one object; what is allocated is in milli-CPU and bytes.

    ``owners`` is exhaustive: the pods that took of a Reservation, by workload.
    """

    there: bool = True
    phase: str | None = None
    node_name: str | None = None
    owners: Mapping[str, int] | None = None
    allocated: Mapping[str, int] | None = None
    status: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ExpectedMoment:
    """What must hold at one moment of a stepped scenario.

    ``plans`` is of all plans until then; its state is that of the pods and nodes.
    """

    plans: ExpectedOptimizer = ExpectedOptimizer()
    objects: Mapping[str, ExpectedObject] = field(default_factory=dict)

    @property
    def state(self) -> ExpectedState:
        """Return what must hold of the pods and nodes."""
        return self.plans.state


@dataclass(frozen=True, slots=True)
class MetricBound:
    """A bound on a metric of the measured window, and where the bound comes from.

    The bound is ``margin`` times the worst value of the ``spread`` that ``runs`` gave.
    """

    origin: str
    runs: int
    spread: tuple[float, float]
    margin: float
    minimum: float | None = None
    maximum: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        if self.minimum is not None and value < self.minimum:
            return False
        return self.maximum is None or value <= self.maximum

    def __str__(self) -> str:
        ends = (("at least", self.minimum), ("at most", self.maximum))
        return " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)


@dataclass(frozen=True, slots=True)
class Expectations:
    """What must come of a scenario.

    ``deterministic`` and ``optimizer`` are of its halves, or ``end`` and ``metrics`` of
    its steps. ``tolerance`` is the allowed distance of every utilisation figure.
    ``allow_unplaceable`` accepts pods that fit no empty node.
    """

    deterministic: ExpectedState = ExpectedState()
    optimizer: ExpectedOptimizer = ExpectedOptimizer()
    tolerance: float = 1e-6
    allow_unplaceable: bool = False
    end: ExpectedMoment = ExpectedMoment()
    metrics: Mapping[str, MetricBound] = field(default_factory=dict)
