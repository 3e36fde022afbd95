"""The answers about a cluster, as values: screen, tables and JSON show them."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from stowage_testbed.amounts.price import exact_price

Verdict = Literal["too large", "proved", "beside", "limited", "open", "not found", "not judged"]
"""What is known of pods that stay pending."""

Certainty = Literal["Reserved", "Rehearsed"]
"""How sure a plan is: room is held for each replacement, or the scheduler of the pods
placed them all when it was tried, and nothing is held."""


class PodMove(Struct, frozen=True):
    """A running pod that goes to another node."""

    pod: str
    from_node: str
    to_node: str


class Move(PodMove, frozen=True):
    """A move that makes room for ``admits`` waiting pods, of that priority at most.

    It admits none where the room is for another moved pod.
    """

    admits: int = 0
    priority: int | None = None


class Tier(Struct, frozen=True):
    """The pods of a priority and above with a node now and by the plan.

    ``at_most`` is proved, given the tiers above.
    """

    priority: int
    before: int
    after: int
    at_most: int


class StillPending(Struct, frozen=True):
    """Equal pods that stay pending.

    The verdict, the rules in the way, the scheduler's words now and after, and changes.
    """

    workload: str
    pods: int
    verdict: Verdict
    reason: str
    rules: tuple[str, ...] = ()
    now: str = ""
    after: str = ""
    changes: tuple[str, ...] = ()


class Proof(Struct, frozen=True):
    """Whether no plan of those that ``about`` names places more, or as many with less disruption, as is proved.

    It leaves aside ``not_about``, of which ``limits`` are limits on plans.
    """

    holds: bool
    about: str
    not_about: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """What else was left aside."""
        return tuple(one for one in self.not_about if one not in self.limits)


class WaitingGang(Struct, frozen=True):
    """A gang that has fewer pods with a node than it ``needs`` at once.

    With a node are ``before`` of its pods, ``now`` as the scheduler goes on with things as they are, and ``after`` by
    the plan, in which ``moves`` and ``evictions`` clear the nodes that the pods get. The reason is what keeps it
    waiting.
    """

    gang: str
    pods: int
    needs: int
    before: int
    now: int
    after: int
    moves: int = 0
    evictions: int = 0
    reason: str = ""


class Elsewhere(Struct, frozen=True):
    """Pods that wait for a scheduler that was not asked about."""

    scheduler: str
    pods: int


class Kept(Struct, frozen=True):
    """A rule that keeps running pods where they are, and one of them."""

    rule: str
    pods: int
    example: str


class IrremovableNode(Struct, frozen=True):
    """A node that autoscalers may not remove, and the annotation that says so."""

    name: str
    reason: str


class Room(Struct, frozen=True):
    """A resource of all nodes together: in thousandths of a core or of a device, bytes, or its own unit.

    Stranded is what is free where no pod that asks for the resource fits for want of another; it is unknown where pods
    take parts of devices.
    """

    resource: str
    capacity: int
    free: int
    stranded: int | None
    nodes: int
    free_nodes: int
    largest_free: int


class HourlyPrice(Struct, frozen=True):
    """What an hour of the nodes in use costs, in millionths, if pods moved, and at least."""

    used_micros: int
    needed_micros: int
    least_micros: int


class NotJudged(Struct, frozen=True):
    """What was left alone, or could not be seen; the subject is empty for a whole kind."""

    reason: str
    subject: str = ""
    detail: str = ""


class Findings(Struct, frozen=True):
    """The answer to whether the pending pods would fit.

    ``fits_now`` are those that the scheduler places as things are; to ``untried`` it did not come in time.
    ``fits_after`` have a node after ``moves`` and ``evictions``. ``proved`` is whether the proof leaves nothing aside.
    ``gain_by_moves`` ascends. Nodes in use are ``None`` if that was not found out; where nodes have prices the needed
    ones are the cheapest, not the fewest.
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
    gangs: tuple[WaitingGang, ...] = ()

    def document(self) -> Mapping[str, Any]:
        """Return the findings as JSON."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document


class Bill(Struct, frozen=True):
    """Nodes, and what an hour of them costs in millionths; 0 where none has a price."""

    nodes: int
    hourly_micros: int


class EmptiedNode(Struct, frozen=True):
    """A node that could be emptied, by which moves, and its gain: see `emptying.gains_of`."""

    name: str
    kind: str
    hourly_micros: int
    gain: float
    moves: tuple[PodMove, ...]


class LeftOut(Struct, frozen=True):
    """A node that could be emptied, and is not."""

    node: str
    why: str
    detail: str
    gain: float | None = None


class KindBill(Struct, frozen=True):
    """The nodes in use of a kind, and those that could be emptied; ``each_micros`` is ``None`` where prices differ."""

    kind: str
    used: Bill
    emptied: Bill
    each_micros: int | None


class Defragmentation(Struct, frozen=True):
    """The nodes that could be emptied, and what that saves.

    ``least`` are proved limits on ``after``, each of its own. ``opened`` are idle nodes that the plan takes into use,
    since they are cheaper; ``making_room`` are moves from nodes that stay in use.
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
        return {**{name: exact_price(sum_, 0) for name, sum_ in told}, **msgspec.to_builtins(self)}
