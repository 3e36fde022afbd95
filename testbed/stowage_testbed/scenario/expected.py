"""What a scenario expects of a moment, of its end, and of what was measured; ``None`` is not checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isclose
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, MinLen
from pydantic import with_config
from typing_extensions import TypedDict

from stowage_testbed.scenario.types import (
    Change,
    Count,
    Counts,
    Filled,
    MetricName,
    Priority,
    Quantity,
    Resource,
    Share,
    Some,
    Written,
    WrittenExpression,
)

ROUNDING = 0.05  # How far a bound may lie from the worst value times the margin


@dataclass(frozen=True, slots=True)
class Bounds:
    """An inclusive range of whole numbers; one number is the range from it to it."""

    min: Count | None = None
    """At least this many."""
    max: Count | None = None
    """At most this many."""

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            raise ValueError("is empty; write `min`, `max` or a number")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}; exchange them")

    @classmethod
    def of(cls, written: int | Self) -> Self:
        """Return the range that a file has as a number, or as `min` and `max`."""
        return cls(written, written) if isinstance(written, int) else written

    def holds(self, value: float) -> bool:
        """Return whether ``value`` lies in the range."""
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)

    def __str__(self) -> str:
        if self.min == self.max:
            return str(self.min)
        if self.max is None:
            return f"at least {self.min}"
        if self.min is None:
            return f"at most {self.max}"
        return f"{self.min} to {self.max}"


Range = Annotated[Bounds, Written(Count | Bounds, Bounds.of)]


@with_config(extra="allow")
class ExpectedObject(TypedDict, total=False):
    """What must hold of one object, as a file has it.

    Besides the words here, any part of the object as Kubernetes has it; it must have at least so much.
    """

    there: bool
    """Whether there is such an object."""
    phase: Filled
    """Its phase, as in Available."""
    nodeName: Filled
    """The node of a Reservation or a Pod."""
    currentOwners: Counts
    """Pods that took of a Reservation, by workload. A workload that is not named took nothing."""
    allocated: Mapping[Resource, Quantity]
    """What they took, by resource, as in 100m of cpu or 2G of memory."""


def _refuse_nothing(written: ExpectedObject) -> ExpectedObject:
    if not written:
        raise ValueError("is empty; fill it or remove it")
    return written


def _sort(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values in order, each of which is a text, or texts in order, too."""
    return tuple(sorted(one if isinstance(one, str) else _sort(one) for one in values))


@dataclass(frozen=True, slots=True)
class ExpectedMoment:
    """What must hold of pods, nodes, plans and objects at one settled moment."""

    placed: Range | None = None
    """Number of bound pods."""
    pending: Counts | None = None
    """Pods without a node, by workload. A workload that is not named has none."""
    placements: Mapping[str, Annotated[tuple[str, ...], Written(tuple[str, ...], _sort)]] | None = None
    """The nodes of a workload's bound pods, one entry a pod, in any order."""
    groups: (
        Annotated[tuple[tuple[str, ...], ...], Written(tuple[Annotated[tuple[str, ...], MinLen(1)], ...], _sort)] | None
    ) = None
    """What shares a node, whatever the node is called: for each node with pods, the workloads of its pods, one entry a
    pod."""
    placed_by_priority: Mapping[Priority, Range] | None = None
    """Number of bound pods by priority."""
    utilisation: Mapping[Resource, Share] | None = None
    """Share of the nodes' resources that bound pods request, by resource, from 0 to 1; of devices the share that they
    hold, by device class, as in devices/h100."""
    pods_per_node: Range | None = None
    """Range in which every node's number of pods lies."""
    moves: Range | None = None
    """Pods that were evicted and bound elsewhere, over all plans until then."""
    evictions: Range | None = None
    """Pods that were evicted and left unplaced, over all plans until then."""
    optimal: bool | None = None
    """Whether the last plan is proved optimal for every priority."""
    solves: Range | None = None
    """Number of plans."""
    utilisation_delta: Mapping[Resource, Change] | None = None
    """Utilisation minus that at the checkpoint `since`, by resource; only of a `check`."""
    phases: Counts | None = None
    """Number of plans by the phase that they are in. A phase that is not named has none."""
    objects: Mapping[str, Annotated[ExpectedObject, Written(ExpectedObject, _refuse_nothing)]] = field(
        default_factory=dict
    )
    """What must hold of objects and plans, by the name that the scenario has for them, or of any other object as
    Kind/name."""
    that: tuple[WrittenExpression, ...] = ()
    """What must hold, as expressions in CEL over pods, nodes, plans, slices, classes, claims (lists of objects) and
    objects (by name)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricBound:
    """A bound on a metric of the measured window, and where the bound comes from."""

    origin: Filled
    """Where the bound comes from - what was run, on which machine."""
    runs: Some
    """How many runs the spread is of."""
    spread: tuple[float, float]
    """The lowest and the highest value in those runs."""
    margin: Annotated[float, Ge(1)]
    """How many times the worst value of the spread the bound is."""
    min: float | None = None
    """The value is at least this."""
    max: float | None = None
    """The value is at most this."""

    def __post_init__(self) -> None:
        low, high = self.spread
        if low > high:
            raise ValueError(f"the lowest value of `spread`, {low:g}, is above the highest, {high:g}; exchange them")
        if self.min is None and self.max is None:
            raise ValueError("there is no bound; write `min` or `max`")
        for key, value, worst, should in (
            ("min", self.min, low, low / self.margin),
            ("max", self.max, high, high * self.margin),
        ):
            if value is not None and not isclose(value, should, rel_tol=ROUNDING):
                raise ValueError(
                    f"`{key}` {value:g} does not follow from its origin: the worst value {worst:g} with margin "
                    f"{self.margin:g} gives {should:.4g}; fix the one that is wrong"
                )

    def holds(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)

    def in_words(self, name: str) -> str:
        """Return the bound on the metric of this name, with its origin."""
        low, high = self.spread
        return f"{name} is {self} ({self.runs} runs gave {low:g} to {high:g}, margin {self.margin:g}; {self.origin})"

    def __str__(self) -> str:
        ends = (("at least", self.min), ("at most", self.max))
        return " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)


@dataclass(frozen=True, slots=True)
class Expectations:
    """What must come of a scenario. What is not named is not checked."""

    end: ExpectedMoment
    """When the steps are done and nothing changes any more."""
    tolerance: Share = 1e-6
    """Allowed distance of every utilisation figure."""
    allow_unplaceable: bool = False
    """Accept pods that fit on no empty node; without it they are an error."""
    allow: tuple[Literal["lost-pod", "fewer-placed", "half-placed", "overcommit"], ...] = ()
    """Rules that Kubernetes itself or the scheduler under test breaks here, as where a StatefulSet cannot make a pod
    again."""
    metrics: Mapping[MetricName, MetricBound] = field(default_factory=dict)
    """Bounds on metrics of the measured window, by the metric's name."""
    that: tuple[WrittenExpression, ...] = ()
    """What must hold at the end, as expressions in CEL over pods, nodes, plans, slices, classes, claims, objects and
    the metrics of the measured window."""
