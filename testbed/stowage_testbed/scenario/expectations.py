"""What a scenario expects, as values and in words: of moments, objects and metrics.

``None`` is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from stowage_testbed.declaration import form, made, setting
from stowage_testbed.quantity import (
    Cpu,
    Memory,
    format_cpu,
    format_memory,
    parse_cpu,
    parse_memory,
)
from stowage_testbed.scenario.expression import Expression
from stowage_testbed.scenario.manifest_forms import Anything, Filled
from stowage_testbed.scenario.subset import differences
from stowage_testbed.scenario.words import HALVES, STEPS

Plain = Mapping[str, Any]
"""Values of a file that passed the schema."""

Counted = Annotated[int, form(minimum=0)]
Counts = Mapping[str, Counted]
"""How many there are, by name."""

_AMOUNTS: Mapping[str, tuple[Callable[[Any], int], Callable[[int], str]]] = {
    "cpu": (parse_cpu, format_cpu),
    "memory": (parse_memory, format_memory),
}
"""How amounts of each resource are read, and how they are written."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An inclusive range of whole numbers; one number is the range from it to it."""

    minimum: Annotated[Counted | None, setting("At least this many.", key="min")] = None
    maximum: Annotated[Counted | None, setting("At most this many.", key="max")] = None

    @classmethod
    def of(cls, plain: int | Plain) -> Self:
        """Return the range that a file has as a number, or as `min` and `max`."""
        if isinstance(plain, Mapping):
            return made(cls, plain)
        return cls(int(plain), int(plain))

    def holds(self, value: int) -> bool:
        """Return whether ``value`` lies in the range."""
        return _within(self.minimum, value, self.maximum)

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return str(self.minimum)
        if self.maximum is None:
            return f"at least {self.minimum}"
        if self.minimum is None:
            return f"at most {self.maximum}"
        return f"{self.minimum} to {self.maximum}"


Range = Annotated[
    Bounds,
    form(
        name="bounds",
        written=Counted | Annotated[Bounds, form(minProperties=1)],
        parse=Bounds.of,
    ),
]
Condition = Annotated[
    Expression,
    form(written=str, parse=Expression, minLength=1, format="expression"),
]
Priority = Annotated[int, form(written=str, parse=int, format="priority")]
Share = Annotated[float, form(minimum=0, maximum=1)]
Change = Annotated[float, form(minimum=-1, maximum=1)]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much there is of CPU and memory."""

    cpu: Annotated[Cpu | None, setting("Of CPU, as in 100m.")] = None
    memory: Annotated[Memory | None, setting("Of memory, as in 2G.")] = None


@dataclass(frozen=True, slots=True)
class Shares:
    """Which share of CPU and memory."""

    cpu: Annotated[Share | None, setting("Of CPU.")] = None
    memory: Annotated[Share | None, setting("Of memory.")] = None


@dataclass(frozen=True, slots=True)
class Changes:
    """By how much a share of CPU and memory changes."""

    cpu: Annotated[Change | None, setting("Of CPU.")] = None
    memory: Annotated[Change | None, setting("Of memory.")] = None


def amounts(quantities: Plain) -> dict[str, int]:
    """Return how much CPU and memory there is of them, in milli-CPU and bytes."""
    return {
        key: parse(quantities[key])
        for key, (parse, _) in _AMOUNTS.items()
        if key in quantities
    }


def spell(resource: str, amount: int) -> str:
    """Return an amount of CPU or memory as a file has it."""
    _, show = _AMOUNTS[resource]
    return show(amount)


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """What must hold of one object; what is allocated is in milli-CPU and bytes.

    ``owners`` is exhaustive. Of what ``has`` names the object must have at least so
    much.
    """

    there: Annotated[bool, setting("Whether there is such an object.")] = True
    phase: Annotated[Filled | None, setting("Its phase, as in Available.")] = None
    node_name: Annotated[
        Filled | None, setting("The node of a Reservation or a Pod.", key="nodeName")
    ] = None
    owners: Annotated[
        Counts | None,
        setting(
            "Pods that took of a Reservation, by workload. A workload that is not "
            "named took nothing.",
            key="currentOwners",
        ),
    ] = None
    allocated: Annotated[
        Mapping[str, int] | None,
        form(written=Amounts, parse=amounts),
        setting("What they took."),
    ] = None
    has: Annotated[
        Anything, setting("Any part of the object as Kubernetes has it.", rest=True)
    ] = field(default_factory=dict)

    def in_words(self, name: str) -> Iterator[str]:
        """Yield a line for each thing that must hold of the object of this name."""
        if not self.there:
            yield f"there is no {name}"
        if self.phase is not None:
            yield f"{name} is {self.phase}"
        if self.node_name is not None:
            yield f"{name} has node {self.node_name}"
        if self.owners is not None:
            yield f"pods that took of {name}: {_counts(self.owners) or 'none'}"
        if self.allocated is not None:
            shown = (f"{key} {spell(key, n)}" for key, n in self.allocated.items())
            yield f"they took {', '.join(shown)}"
        for one in differences(self.has, {}):
            yield f"{name} has {one.path}: {one.wanted}"


OfObject = Annotated[
    ExpectedObject,
    form(
        name="expected-object",
        minProperties=1,
        description="Besides the words here, any part of the object as Kubernetes has "
        "it; it must have at least so much.",
    ),
]


def _in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(values))


def _groups_in_order(groups: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    return _in_order(map(_in_order, groups))


@dataclass(frozen=True, slots=True)
class ExpectedMoment:
    """What must hold of pods, nodes, plans and objects at one settled moment."""

    placed: Annotated[Range | None, setting("Number of bound pods.")] = None
    pending: Annotated[
        Counts | None,
        setting(
            "Pods without a node, by workload. A workload that is not named has none."
        ),
    ] = None
    placements: Annotated[
        Mapping[str, Annotated[tuple[str, ...], form(parse=_in_order)]] | None,
        setting("The nodes of a workload's bound pods, one entry a pod, in any order."),
    ] = None
    groups: Annotated[
        tuple[Annotated[tuple[str, ...], form(minItems=1)], ...] | None,
        form(parse=_groups_in_order),
        setting(
            "What shares a node, whatever the node is called: for each node with pods, "
            "the workloads of its pods, one entry a pod."
        ),
    ] = None
    placed_by_priority: Annotated[
        Mapping[Priority, Range] | None,
        setting("Number of bound pods by priority."),
    ] = None
    utilisation: Annotated[
        Mapping[str, float] | None,
        form(written=Shares),
        setting("Share of the nodes' resources that bound pods request, from 0 to 1."),
    ] = None
    pods_per_node: Annotated[
        Range | None, setting("Range in which every node's number of pods lies.")
    ] = None
    moves: Annotated[
        Range | None,
        setting(
            "Pods that were evicted and bound elsewhere, over all plans until then."
        ),
    ] = None
    evictions: Annotated[
        Range | None,
        setting("Pods that were evicted and left unplaced, over all plans until then."),
    ] = None
    optimal: Annotated[
        bool | None,
        setting("Whether the last plan is proved optimal for every priority."),
    ] = None
    solves: Annotated[Range | None, setting("Number of plans.")] = None
    utilisation_delta: Annotated[
        Mapping[str, float] | None,
        form(written=Changes),
        setting("Utilisation afterwards minus utilisation before."),
    ] = None
    phases: Annotated[
        Counts | None,
        setting(
            "Number of plans by the phase that they are in. A phase that is not named "
            "has none."
        ),
    ] = None
    objects: Annotated[
        Mapping[str, OfObject],
        setting(
            "What must hold of objects and plans, by the name that the scenario has "
            "for them, or of any other object as Kind/name."
        ),
    ] = field(default_factory=dict)
    that: Annotated[
        tuple[Condition, ...],
        setting(
            "What must hold, as expressions in CEL over pods, nodes, plans (lists of "
            "objects) and objects (by name).",
            minItems=1,
        ),
    ] = ()

    def in_words(self) -> Iterator[str]:
        """Yield a line for each thing that must hold."""
        yield from self._state_in_words()
        yield from self._plans_in_words()
        for name, one in self.objects.items():
            yield from one.in_words(name)
        for expression in self.that:
            yield f"it holds that {expression.text}"

    def _state_in_words(self) -> Iterator[str]:
        if self.placed is not None:
            yield f"pods with a node: {self.placed}"
        if self.pending is not None:
            waiting = {name: count for name, count in self.pending.items() if count}
            yield f"pods without a node: {_counts(waiting) or 'none'}, and no others"
        for workload, nodes in (self.placements or {}).items():
            yield f"{workload} is on {', '.join(nodes) or 'no node'}"
        if self.groups is not None:
            groups = "; ".join(" with ".join(group) for group in self.groups)
            yield f"on the nodes with pods, whichever they are: {groups}"
        for priority, bounds in (self.placed_by_priority or {}).items():
            yield f"pods of priority {priority} with a node: {bounds}"
        for resource, share in (self.utilisation or {}).items():
            yield f"utilisation of {resource}: {share:g}"
        if self.pods_per_node is not None:
            yield f"pods on every node: {self.pods_per_node}"

    def _plans_in_words(self) -> Iterator[str]:
        for noun, count in (
            ("pods that plans move", self.moves),
            ("pods that plans leave unplaced", self.evictions),
            ("plans", self.solves),
        ):
            if count is not None:
                yield f"{noun}: {count}"
        if self.phases is not None:
            plans = ", ".join(f"{n} {phase}" for phase, n in self.phases.items() if n)
            yield f"plans by phase: {plans or 'none'}, and no others"
        if self.optimal is not None:
            yield f"the last plan is {'' if self.optimal else 'not '}proved optimal"
        for resource, delta in (self.utilisation_delta or {}).items():
            yield f"utilisation of {resource} changes by {delta:+g}"


@dataclass(frozen=True, slots=True)
class MetricBound:
    """A bound on a metric of the measured window, and where the bound comes from."""

    origin: Annotated[
        Filled,
        setting("Where the bound comes from - what was run, on which machine."),
    ]
    runs: Annotated[int, setting("How many runs the spread is of.", minimum=1)]
    spread: Annotated[
        tuple[float, float],
        setting("The lowest and the highest value in those runs."),
    ]
    margin: Annotated[
        float,
        setting(
            "How many times the worst value of the spread the bound is.", minimum=1
        ),
    ]
    minimum: Annotated[
        float | None, setting("The value is at least this.", key="min")
    ] = None
    maximum: Annotated[
        float | None, setting("The value is at most this.", key="max")
    ] = None

    def holds(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        return _within(self.minimum, value, self.maximum)

    def in_words(self, name: str) -> str:
        """Return the bound on the metric of this name, with its origin."""
        low, high = self.spread
        return (
            f"{name} is {self} ({self.runs} runs gave {low:g} to {high:g}, margin "
            f"{self.margin:g}; {self.origin})"
        )

    def __str__(self) -> str:
        ends = (("at least", self.minimum), ("at most", self.maximum))
        return " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)


Moment = Annotated[
    ExpectedMoment,
    form(name="moment", without=("utilisation_delta",), minProperties=1),
]
_OF_PLANS = ("moves", "evictions", "optimal", "solves", "utilisation_delta")
_OF_STEPS = ("phases", "objects", "that")
_MetricName = Annotated[str, form(format="metric-name")]


@dataclass(frozen=True, slots=True)
class Expectations:
    """What must come of a scenario."""

    tolerance: Annotated[
        float,
        setting("Allowed distance of every utilisation figure.", minimum=0, maximum=1),
    ] = 1e-6
    allow_unplaceable: Annotated[
        bool,
        setting("Accept pods that fit on no empty node; without it they are an error."),
    ] = False
    deterministic: Annotated[
        ExpectedMoment,
        form(without=(*_OF_PLANS, *_OF_STEPS)),
        setting(
            "With the deterministic scheduler, when every pod has an outcome.",
            only=HALVES,
            required=True,
        ),
    ] = ExpectedMoment()
    optimizer: Annotated[
        ExpectedMoment,
        form(without=_OF_STEPS),
        setting(
            "After the optimiser, when no plan is live. That no priority is worse off "
            "than before is always checked.",
            only=HALVES,
            required=True,
        ),
    ] = ExpectedMoment()
    end: Annotated[
        Moment,
        setting(
            "When the steps are done and nothing changes any more.",
            only=STEPS,
            required=True,
        ),
    ] = ExpectedMoment()
    metrics: Annotated[
        Mapping[_MetricName, Annotated[MetricBound, form(name="metric-bound")]],
        setting(
            "Bounds on metrics of the measured window, by the metric's name.",
            only=STEPS,
        ),
    ] = field(default_factory=dict)
    that: Annotated[
        tuple[Condition, ...],
        setting(
            "What must hold at the end, as expressions in CEL over pods, nodes, plans, "
            "objects and the metrics of the measured window.",
            only=STEPS,
            minItems=1,
        ),
    ] = ()


def _within(minimum: float | None, value: float, maximum: float | None) -> bool:
    if minimum is not None and value < minimum:
        return False
    return maximum is None or value <= maximum


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in counts.items())
