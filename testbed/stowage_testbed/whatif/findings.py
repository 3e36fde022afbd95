"""The answers about a cluster, as values: screen, tables and JSON show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from stowage_testbed.amounts.price import exact_price

TOO_LARGE, PROVED, BESIDE, LIMITED, OPEN, NOT_FOUND, NOT_JUDGED = (
    "too large",
    "proved",
    "beside",
    "limited",
    "open",
    "not found",
    "not judged",
)
"""The verdicts on pods that stay pending."""

Certainty = Literal["Reserved", "Rehearsed"]
RESERVED: Certainty = "Reserved"
REHEARSED: Certainty = "Rehearsed"
"""How sure a plan is: room is held for each replacement, or the scheduler of the pods
placed them all when it was tried, and nothing is held."""

NOT_WORTH_IT, NO_PLACE = "not worth the moves", "no place for the pods"
"""Why a node is left as it is."""


@dataclass(frozen=True, slots=True)
class Move:
    """A running pod that would go to another node.

    It makes room on the node that it leaves for so many waiting pods; 0 where the room
    is for another moved pod. The priority is the highest of the waiting pods.
    """

    pod: str
    from_node: str
    to_node: str
    admits: int = 0
    priority: int | None = None

    @property
    def order(self) -> tuple[int, int, str]:
        """The key by which moves for the highest priority, then for the most pods, come first."""
        return (2**31, 0, self.pod) if self.priority is None else (-self.priority, -self.admits, self.pod)


@dataclass(frozen=True, slots=True)
class Tier:
    """The pods of a priority and above: how many have a node now, and by the plan.

    ``at_most`` is the proved limit on that, given what the tiers above got; where
    something else than limits on plans was left aside, it is all pods that there are.
    """

    priority: int
    before: int
    after: int
    at_most: int


@dataclass(frozen=True, slots=True)
class StillPending:
    """Equal pods that would stay pending, and why.

    Attributes
    ----------
    verdict
        ``too large`` for every node; ``proved`` that no plan places one; ``beside``:
        proved that no plan places more pods, though another may place these;
        ``limited``: the same of plans within the limits; ``open``: the best plan places
        none, and more is not proved; ``not found`` in time; ``not judged``.
    rules
        Those that keep pods on nodes which these would need.
    now, after
        What keeps them in the scheduler's words, as things are and after the plan;
        empty where the scheduler did not come to them in time.
    changes
        What would have to change: rules, budgets, limits, time.
    """

    workload: str
    pods: int
    verdict: str
    reason: str
    rules: tuple[str, ...] = ()
    now: str = ""
    after: str = ""
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether it is proved that no plan places more, or as many with less disruption.

    It holds for all plans that ``about`` names, ``not_about`` left aside, of which
    ``limits`` are the limits on plans.
    """

    holds: bool
    about: str
    not_about: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """What else was left aside."""
        return tuple(one for one in self.not_about if one not in self.limits)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Pods that wait for a scheduler that was not asked about."""

    scheduler: str
    pods: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A rule that keeps running pods where they are, and one of them."""

    rule: str
    pods: int
    example: str


@dataclass(frozen=True, slots=True)
class IrremovableNode:
    """A node that autoscalers may not remove, and the annotation that says so."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Room:
    """A resource of all nodes together: in thousandths of a core, bytes, or its own unit.

    Stranded is what is free on nodes on which no pod of the cluster that asks for the
    resource fits any more for want of another.
    """

    resource: str
    capacity: int
    free: int
    stranded: int
    nodes: int
    free_nodes: int
    largest_free: int


@dataclass(frozen=True, slots=True)
class HourlyPrice:
    """What an hour of the nodes in use costs, in millionths, if pods moved, and at least."""

    used_micros: int
    needed_micros: int
    least_micros: int


@dataclass(frozen=True, slots=True)
class NotJudged:
    """What was left alone, or could not be seen; the subject is empty for a whole kind."""

    reason: str
    subject: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """The answer to whether the pending pods would fit.

    Attributes
    ----------
    pending
        Pods that wait for a node, and for nothing else, of the schedulers in question.
    fits_now
        Pending pods that the scheduler would place as things are; to ``untried`` it did
        not come in time.
    fits_after
        Pending pods that have a node after ``moves`` and ``evictions``, by the plan or
        because the scheduler places them then.
    evictions
        Running pods that would go pending for others of higher priority.
    proved
        Whether ``proof`` is about the whole cluster, with nothing left aside.
    gain_by_moves
        How many more pods have a node with at most so many moves; ascending.
    used_nodes, needed_nodes, fewest_nodes
        Nodes in use; how many would do if pods moved, and the proved limit on that.
        ``None`` if it was not found out. Where nodes have prices these are the
        cheapest, not the fewest.
    hourly_price
        ``None`` if it was not found out, or no node has a price.
    """

    nodes: int
    running: int
    pending: int
    fits_now: int
    fits_after: int
    moves: tuple[Move, ...]
    evictions: tuple[str, ...]
    proved: bool
    proof: Proof
    tiers: tuple[Tier, ...]
    gain_by_moves: tuple[tuple[int, int], ...]
    left: tuple[StillPending, ...]
    kept: tuple[Kept, ...]
    room: tuple[Room, ...]
    used_nodes: int | None
    needed_nodes: int | None
    fewest_nodes: int | None
    emptied: tuple[str, ...]
    consolidating_moves: int
    not_judged: tuple[NotJudged, ...]
    elsewhere: tuple[Elsewhere, ...] = ()
    untried: int = 0
    hourly_price: HourlyPrice | None = None
    irremovable: tuple[IrremovableNode, ...] = ()

    def document(self) -> Mapping[str, Any]:
        """Return the findings as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Bill:
    """Nodes, and what an hour of them costs in millionths; 0 where none has a price."""

    nodes: int
    hourly_micros: int


@dataclass(frozen=True, slots=True)
class PodMove:
    """A running pod that goes to another node."""

    pod: str
    from_node: str
    to_node: str


@dataclass(frozen=True, slots=True)
class EmptiedNode:
    """A node that could be emptied, by which moves, and its gain: see `emptying.Gains`."""

    name: str
    kind: str
    hourly_micros: int
    gain: float
    moves: tuple[PodMove, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A node that could be emptied, and is not."""

    node: str
    why: str
    detail: str
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class KindBill:
    """The nodes in use of a kind, and those of them that could be emptied.

    ``each_micros`` is ``None`` where they differ in price.
    """

    kind: str
    used: Bill
    emptied: Bill
    each_micros: int | None


@dataclass(frozen=True, slots=True)
class Defragmentation:
    """The nodes that could be emptied, and what that saves.

    Attributes
    ----------
    least
        Proved limits on ``after``, each of its own: no plan leaves fewer in use, nor
        any that cost less.
    opened
        Idle nodes that the plan takes into use, since they are cheaper.
    making_room
        Moves from nodes that stay in use.
    without_price
        Nodes in use without a price where others have one.
    """

    nodes: int
    idle_nodes: int
    before: Bill
    after: Bill
    least: Bill
    emptied: tuple[EmptiedNode, ...]
    opened: tuple[str, ...]
    making_room: tuple[PodMove, ...]
    certainty: Certainty | None
    left_out: tuple[LeftOut, ...]
    limits: tuple[str, ...]
    aside: tuple[str, ...]
    kinds: tuple[KindBill, ...]
    without_price: tuple[str, ...]
    kept: tuple[Kept, ...]
    not_judged: tuple[NotJudged, ...]
    in_time: bool
    irremovable: tuple[IrremovableNode, ...] = ()

    @property
    def saved_micros(self) -> int:
        """What an hour less costs by the plan."""
        return self.before.hourly_micros - self.after.hourly_micros

    @property
    def most_saved_micros(self) -> int:
        """The proved limit on that."""
        return self.before.hourly_micros - self.least.hourly_micros

    @property
    def priced(self) -> bool:
        """Whether any node in use has a price."""
        return self.before.hourly_micros > 0

    @property
    def proved(self) -> bool:
        """Whether no plan saves more, or, without prices, empties more nodes."""
        if self.priced:
            return self.saved_micros >= self.most_saved_micros
        return self.after.nodes <= self.least.nodes

    def moves(self) -> tuple[PodMove, ...]:
        """Return all moves in their order: those that make room come first."""
        return (*self.making_room, *(move for node in self.emptied for move in node.moves))

    def document(self) -> Mapping[str, Any]:
        """Return the findings as JSON, with the sums as a plan's status has them."""
        sums = {
            "hourlyPriceBefore": self.before.hourly_micros,
            "hourlyPriceAfter": self.after.hourly_micros,
            "hourlyPriceLowerBound": self.least.hourly_micros,
            "hourlySaving": self.saved_micros,
        }
        told = sums.items() if self.priced else ()
        return {**{name: exact_price(sum_, 0) for name, sum_ in told}, **asdict(self)}
