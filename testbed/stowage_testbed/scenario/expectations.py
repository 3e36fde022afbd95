"""What a scenario expects, as values and in words: of moments, objects and metrics.

`schema.yaml` says what each of them means. ``None`` is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from stowage_testbed.resources import Resources
from stowage_testbed.scenario.expression import Expression
from stowage_testbed.scenario.subset import differences

Plain = Mapping[str, Any]
"""Values of a file that passed the schema."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An inclusive range of whole numbers; one number is the range from it to it."""

    minimum: int | None = None
    maximum: int | None = None

    @classmethod
    def of(cls, plain: int | Plain) -> Self:
        """Return the range that a file has as a number, or as `min` and `max`."""
        if isinstance(plain, Mapping):
            return cls(plain.get("min"), plain.get("max"))
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


_OWN_WORDS = frozenset({"there", "phase", "nodeName", "currentOwners", "allocated"})
"""What a file says of an object that is no field at its root."""


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """What must hold of one object.

    ``owners`` is exhaustive: the pods that took of a Reservation, by workload. Of what
    ``has`` names the object must have at least so much.
    """

    there: bool = True
    phase: str | None = None
    node_name: str | None = None
    owners: Mapping[str, int] | None = None
    allocated: Resources | None = None
    has: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: Plain) -> Self:
        """Return what a file expects of an object."""
        allocated = plain.get("allocated")
        return cls(
            there=plain.get("there", True),
            phase=plain.get("phase"),
            node_name=plain.get("nodeName"),
            owners=plain.get("currentOwners"),
            allocated=None if allocated is None else Resources.of_list(allocated),
            has={key: plain[key] for key in plain if key not in _OWN_WORDS},
        )

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
            yield f"they took {self.allocated}"
        for one in differences(self.has, {}):
            yield f"{name} has {one.path}: {one.wanted}"


@dataclass(frozen=True, slots=True)
class ExpectedMoment:
    """What must hold of pods, nodes, plans and objects at one settled moment.

    Moves, evictions and solves are of all plans until then. ``pending`` and ``phases``
    are exhaustive: a workload that is not named has no pod without a node. ``groups``
    has a list of workload names, one a pod, for each node with pods.
    """

    placed: Bounds | None = None
    pending: Mapping[str, int] | None = None
    placements: Mapping[str, tuple[str, ...]] | None = None
    groups: tuple[tuple[str, ...], ...] | None = None
    placed_by_priority: Mapping[int, Bounds] | None = None
    utilisation: Mapping[str, float] | None = None
    pods_per_node: Bounds | None = None
    moves: Bounds | None = None
    evictions: Bounds | None = None
    solves: Bounds | None = None
    phases: Mapping[str, int] | None = None
    optimal: bool | None = None
    utilisation_delta: Mapping[str, float] | None = None
    objects: Mapping[str, ExpectedObject] = field(default_factory=dict)
    that: tuple[Expression, ...] = ()

    @classmethod
    def of(cls, plain: Plain) -> Self:
        """Return what a file expects of a moment, which may name more than that."""
        return cls(
            **{
                key: _READ[key](plain[key]) if key in _READ else plain[key]
                for key in (one.name for one in fields(cls))
                if key in plain
            }
        )

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
    """A bound on a metric of the measured window, and where the bound comes from.

    The bound is ``margin`` times the worst value of the ``spread`` that ``runs`` gave.
    """

    origin: str
    runs: int
    spread: tuple[float, float]
    margin: float
    minimum: float | None = None
    maximum: float | None = None

    @classmethod
    def of(cls, plain: Plain) -> Self:
        """Return the bound that a file has."""
        low, high = plain["spread"]
        return cls(
            origin=plain["origin"],
            runs=int(plain["runs"]),
            spread=(float(low), float(high)),
            margin=float(plain["margin"]),
            minimum=plain.get("min"),
            maximum=plain.get("max"),
        )

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


@dataclass(frozen=True, slots=True)
class Expectations:
    """What must come of a scenario.

    ``deterministic`` and ``optimizer`` are of its halves, or ``end``, ``metrics`` and
    ``that`` of its steps. ``tolerance`` is the allowed distance of every utilisation
    figure. ``allow_unplaceable`` accepts pods that fit no empty node.
    """

    deterministic: ExpectedMoment = ExpectedMoment()
    optimizer: ExpectedMoment = ExpectedMoment()
    end: ExpectedMoment = ExpectedMoment()
    metrics: Mapping[str, MetricBound] = field(default_factory=dict)
    that: tuple[Expression, ...] = ()
    tolerance: float = 1e-6
    allow_unplaceable: bool = False

    @classmethod
    def of(cls, plain: Plain) -> Self:
        """Return what a file expects."""
        metrics = plain.get("metrics", {})
        return cls(
            **{
                moment: ExpectedMoment.of(plain.get(moment, {}))
                for moment in ("deterministic", "optimizer", "end")
            },
            metrics={name: MetricBound.of(bound) for name, bound in metrics.items()},
            that=tuple(Expression(text) for text in plain.get("that", ())),
            tolerance=float(plain.get("tolerance", cls().tolerance)),
            allow_unplaceable=plain.get("allow_unplaceable", False),
        )


_READ: Mapping[str, Callable[[Any], Any]] = {
    "placed": Bounds.of,
    "pods_per_node": Bounds.of,
    "moves": Bounds.of,
    "evictions": Bounds.of,
    "solves": Bounds.of,
    "placed_by_priority": lambda placed: {
        int(priority): Bounds.of(placed[priority]) for priority in placed
    },
    "placements": lambda nodes: {name: tuple(sorted(nodes[name])) for name in nodes},
    "groups": lambda groups: tuple(sorted(tuple(sorted(group)) for group in groups)),
    "that": lambda texts: tuple(Expression(text) for text in texts),
    "objects": lambda objects: {
        name: ExpectedObject.of(objects[name]) for name in objects
    },
}
"""How what is expected of a moment is read, where it is not taken as it stands."""


def _within(minimum: float | None, value: float, maximum: float | None) -> bool:
    if minimum is not None and value < minimum:
        return False
    return maximum is None or value <= maximum


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in counts.items())
