"""What a scenario expects of one moment and its objects, as values and in words.

``None`` is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.declaration import form, make_object, setting
from stowage_testbed.scenario.expression import Expression
from stowage_testbed.scenario.manifest_forms import Anything, Filled
from stowage_testbed.scenario.subset import find_differences

Plain = Mapping[str, Any]
"""Values of a file that passed the schema."""

Counted = Annotated[int, form(minimum=0)]
Counts = Mapping[str, Counted]
"""How many there are, by name."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An inclusive range of whole numbers; one number is the range from it to it."""

    minimum: Annotated[Counted | None, setting("At least this many.", key="min")] = None
    maximum: Annotated[Counted | None, setting("At most this many.", key="max")] = None

    @classmethod
    def of(cls, plain: int | Plain) -> Self:
        """Return the range that a file has as a number, or as `min` and `max`."""
        if isinstance(plain, Mapping):
            return make_object(cls, plain)
        return cls(int(plain), int(plain))

    def holds(self, value: int) -> bool:
        """Return whether ``value`` lies in the range."""
        return is_within(self.minimum, value, self.maximum)

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return str(self.minimum)
        if self.maximum is None:
            return f"at least {self.minimum}"
        if self.minimum is None:
            return f"at most {self.maximum}"
        return f"{self.minimum} to {self.maximum}"


Range = Annotated[
    Bounds, form(name="bounds", written=Counted | Annotated[Bounds, form(minProperties=1)], parse=Bounds.of)
]
WrittenExpression = Annotated[Expression, form(written=str, parse=Expression, minLength=1, format="expression")]
Priority = Annotated[int, form(written=str, parse=int, format="priority")]
Resource = Annotated[str, form(format="any-resource")]
Share = Annotated[float, form(minimum=0, maximum=1)]
Change = Annotated[float, form(minimum=-1, maximum=1)]
Quantity = Annotated[str, form(written=str | float, format="quantity")]


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """What must hold of one object.

    ``owners`` is exhaustive. Of what ``has`` names the object must have at least so
    much.
    """

    there: Annotated[bool, setting("Whether there is such an object.")] = True
    phase: Annotated[Filled | None, setting("Its phase, as in Available.")] = None
    node_name: Annotated[Filled | None, setting("The node of a Reservation or a Pod.", key="nodeName")] = None
    owners: Annotated[
        Counts | None,
        setting(
            "Pods that took of a Reservation, by workload. A workload that is not named took nothing.",
            key="currentOwners",
        ),
    ] = None
    allocated: Annotated[
        Resources | None,
        form(written=Mapping[Resource, Quantity], parse=Resources.of_list),
        setting("What they took, by resource, as in 100m of cpu or 2G of memory."),
    ] = None
    has: Annotated[Anything, setting("Any part of the object as Kubernetes has it.", rest=True)] = field(
        default_factory=dict
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
            yield f"pods that took of {name}: {_spell(self.owners) or 'none'}"
        if self.allocated is not None:
            yield f"they took {self.allocated}"
        for one in find_differences(self.has, {}):
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


def _sort(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(values))


def _sort_groups(groups: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    return _sort(map(_sort, groups))


@dataclass(frozen=True, slots=True)
class ExpectedMoment:
    """What must hold of pods, nodes, plans and objects at one settled moment."""

    placed: Annotated[Range | None, setting("Number of bound pods.")] = None
    pending: Annotated[
        Counts | None, setting("Pods without a node, by workload. A workload that is not named has none.")
    ] = None
    placements: Annotated[
        Mapping[str, Annotated[tuple[str, ...], form(parse=_sort)]] | None,
        setting("The nodes of a workload's bound pods, one entry a pod, in any order."),
    ] = None
    groups: Annotated[
        tuple[Annotated[tuple[str, ...], form(minItems=1)], ...] | None,
        form(parse=_sort_groups),
        setting(
            "What shares a node, whatever the node is called: for each node with pods, "
            "the workloads of its pods, one entry a pod."
        ),
    ] = None
    placed_by_priority: Annotated[Mapping[Priority, Range] | None, setting("Number of bound pods by priority.")] = None
    utilisation: Annotated[
        Mapping[Resource, Share] | None,
        setting("Share of the nodes' resources that bound pods request, by resource, from 0 to 1."),
    ] = None
    pods_per_node: Annotated[Range | None, setting("Range in which every node's number of pods lies.")] = None
    moves: Annotated[
        Range | None, setting("Pods that were evicted and bound elsewhere, over all plans until then.")
    ] = None
    evictions: Annotated[
        Range | None, setting("Pods that were evicted and left unplaced, over all plans until then.")
    ] = None
    optimal: Annotated[bool | None, setting("Whether the last plan is proved optimal for every priority.")] = None
    solves: Annotated[Range | None, setting("Number of plans.")] = None
    utilisation_delta: Annotated[
        Mapping[Resource, Change] | None, setting("Utilisation afterwards minus utilisation before, by resource.")
    ] = None
    phases: Annotated[
        Counts | None, setting("Number of plans by the phase that they are in. A phase that is not named has none.")
    ] = None
    objects: Annotated[
        Mapping[str, OfObject],
        setting(
            "What must hold of objects and plans, by the name that the scenario has "
            "for them, or of any other object as Kind/name."
        ),
    ] = field(default_factory=dict)
    that: Annotated[
        tuple[WrittenExpression, ...],
        setting(
            "What must hold, as expressions in CEL over pods, nodes, plans (lists of objects) and objects (by name).",
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
            yield f"pods without a node: {_spell(waiting) or 'none'}, and no others"
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


WrittenMoment = Annotated[ExpectedMoment, form(name="moment", without=("utilisation_delta",), minProperties=1)]
"""How it is written, where nothing comes before that it could be compared with."""


def is_within(minimum: float | None, value: float, maximum: float | None) -> bool:
    """Return whether a value lies between two ends, of which each may be open."""
    if minimum is not None and value < minimum:
        return False
    return maximum is None or value <= maximum


def _spell(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in counts.items())
