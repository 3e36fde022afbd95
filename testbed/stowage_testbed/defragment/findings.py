"""What was found out about the nodes in use, as values; screens and JSON show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from stowage_testbed.amounts.price import exact_price
from stowage_testbed.whatif.findings import IrremovableNode, Kept, NotJudged

Certainty = Literal["Reserved", "Rehearsed"]
RESERVED: Certainty = "Reserved"
REHEARSED: Certainty = "Rehearsed"
"""How sure a plan is: room is held for each replacement, or the scheduler of the pods
placed them all when it was tried, and nothing is held."""

NOT_WORTH_IT, NO_PLACE, IN_USE = ("not worth the moves", "no place for the pods", "taken into use")
"""Why a node is left as it is."""


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
    """A node that could be emptied, and by which moves.

    ``gain`` is its share of what all nodes in use cost, over its moves' share of what
    moving all pods would cost; 0 where its price is not known and others are.
    """

    name: str
    kind: str
    hourly_micros: int
    gain: float
    moves: tuple[PodMove, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A node that could be emptied, and is not; a gain of those not worth it only."""

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
    """The answers.

    Attributes
    ----------
    nodes, idle_nodes
        Of those that were asked about; idle ones hold no pod but those that go with
        their node, and may be removed.
    before, after
        The nodes in use, now and by the plan.
    least
        Proved limits on ``after``, each of its own: no plan leaves fewer in use, nor
        any that cost less.
    emptied
        In the order of the plan: the best gain first.
    opened
        Idle nodes that the plan takes into use, since they are cheaper.
    making_room
        Moves from nodes that stay in use.
    certainty
        ``None`` where nothing moves.
    left_out
        Nodes that the plan would empty, were it not for these reasons.
    limits
        Those on plans, in words; the proof is about plans within them.
    aside
        What the proof leaves aside.
    kinds
        The dearest first.
    without_price
        Nodes in use without a price where others have one.
    in_time
        Whether there was time to look for a plan.
    irremovable
        Nodes that are in use whatever runs there.
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
        emptying = (move for node in self.emptied for move in node.moves)
        return (*self.making_room, *emptying)

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
