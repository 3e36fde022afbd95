"""What a scenario expects, as values: of one moment, of the optimiser, of metrics."""

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
    """What must hold of the pods and nodes at a settled moment; None is not checked.

    Attributes
    ----------
    placed
        Number of bound pods.
    pending
        Pods without a node, by workload. Exhaustive: a workload that is not named has
        none.
    placements
        The nodes of a workload's bound pods, one entry a pod, in any order.
    groups
        What shares a node, whatever the node is called: one list of workload names
        (one entry a pod) for each node that has pods.
    placed_by_priority
        Bound pods by priority; a priority that is not named is not checked.
    utilisation
        Requested share of the allocatable amount, from 0 to 1, by resource.
    pods_per_node
        Range that every node's number of pods lies in.
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
    """What must hold after the optimiser; None is not checked.

    Attributes
    ----------
    state
        The pods and nodes afterwards.
    moves, evictions
        Pods that changed their node, and pods that lost theirs, over all plans.
    optimal
        Whether the last plan is proved optimal in every tier.
    solves
        How often the optimiser was asked.
    phases
        Plans by their phase. Exhaustive.
    utilisation_delta
        Utilisation afterwards minus utilisation before, by resource.
    """

    state: ExpectedState = ExpectedState()
    moves: Bounds | None = None
    evictions: Bounds | None = None
    optimal: bool | None = None
    solves: Bounds | None = None
    phases: Mapping[str, int] | None = None
    utilisation_delta: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """What must hold of one object; None is not checked.

    Attributes
    ----------
    there
        Whether there is such an object.
    owners
        Pods that took of a Reservation, by workload. Exhaustive.
    allocated
        What they took, in milli-CPU and bytes, by resource.
    status
        Further fields of the status, which must be equal.
    """

    there: bool = True
    phase: str | None = None
    node_name: str | None = None
    owners: Mapping[str, int] | None = None
    allocated: Mapping[str, int] | None = None
    status: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ExpectedMoment:
    """What must hold at one moment of a stepped scenario; None is not checked.

    Attributes
    ----------
    plans
        What all plans until then have done; its state is that of the pods and nodes.
    objects
        Objects by the name that the scenario gives them.
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

    Attributes
    ----------
    origin
        What was run, where and when.
    runs
        How many runs the spread is of.
    spread
        The metric's lowest and highest value in those runs.
    margin
        How many times the worst of them the bound is.
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

    Attributes
    ----------
    deterministic, optimizer
        Of one in two halves: with the deterministic scheduler, and after the optimiser.
    end, metrics
        Of one with steps: when they are done, and of the measured window, by metric.
    tolerance
        Allowed distance of every utilisation figure.
    allow_unplaceable
        Accepts pods that fit no empty node.
    """

    deterministic: ExpectedState = ExpectedState()
    optimizer: ExpectedOptimizer = ExpectedOptimizer()
    tolerance: float = 1e-6
    allow_unplaceable: bool = False
    end: ExpectedMoment = ExpectedMoment()
    metrics: Mapping[str, MetricBound] = field(default_factory=dict)
