"""What was found out about a cluster, as values; screen, tables and JSON show them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Move:
    """A running pod that would go to another node.

    Attributes
    ----------
    admits
        Waiting pods that the plan puts on the node that this pod leaves. 0 where the
        room is for another moved pod.
    priority
        The highest of these pods; ``None`` without any.
    """

    pod: str
    from_node: str
    to_node: str
    admits: int = 0
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Tier:
    """The pods of a priority and above: how many have a node.

    Attributes
    ----------
    before, after
        Now, and by the plan.
    at_most
        Proved limit on ``after``, given what the tiers above got.
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
        ``too large`` for every node, ``proved`` that no plan places more of the pods,
        ``not found`` in time, or ``not judged``.
    rules
        Those that keep pods on nodes which else were large enough.
    """

    workload: str
    pods: int
    verdict: str
    reason: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A rule that keeps running pods where they are.

    Attributes
    ----------
    example
        One of the pods.
    """

    rule: str
    pods: int
    example: str


@dataclass(frozen=True, slots=True)
class Room:
    """A resource of all nodes together.

    Attributes
    ----------
    capacity, free
        What pods can be given, and what no pod has requested of it: in thousandths of
        a core, bytes, or the resource's own unit.
    stranded
        Free on nodes on which no pod of the cluster that asks for the resource fits any
        more for want of another.
    nodes, free_nodes
        How many nodes have the resource, and how many have some of it free.
    largest_free
        The most that one node has free.
    """

    resource: str
    capacity: int
    free: int
    stranded: int
    nodes: int
    free_nodes: int
    largest_free: int


@dataclass(frozen=True, slots=True)
class NotJudged:
    """What was left alone, or could not be seen.

    Attributes
    ----------
    subject
        A pod class, an owner or an object; empty where it is a whole kind of objects.
    """

    reason: str
    subject: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Emptied:
    """A node that nobody would need.

    Attributes
    ----------
    pods
        That move away before.
    an_hour
        Its price; ``None`` if it has none.
    """

    node: str
    pods: int
    an_hour: Decimal | None


@dataclass(frozen=True, slots=True)
class KeptInUse:
    """A rule that keeps nodes in use: none of these pods may be moved.

    Attributes
    ----------
    an_hour
        What the nodes cost; 0 where no price is known.
    example
        One of the pods.
    """

    rule: str
    nodes: int
    an_hour: Decimal
    example: str


@dataclass(frozen=True, slots=True)
class Savings:
    """Money; only nodes that have a price count.

    Attributes
    ----------
    spent_an_hour
        What all nodes cost.
    idle_an_hour
        What nodes cost that are empty as things are.
    saved_an_hour, saved_a_month
        What the nodes in use cost less after the moves than before.
    at_most_an_hour
        Proved limit on that: no plan saves more.
    without_price
        Nodes that have no price, and why.
    """

    currency: str
    spent_an_hour: Decimal
    idle_an_hour: Decimal
    saved_an_hour: Decimal
    saved_a_month: Decimal
    at_most_an_hour: Decimal
    without_price: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Emptying:
    """Which nodes could be emptied. One is empty where only pods of DaemonSets are.

    Attributes
    ----------
    in_use, in_use_after
        How many nodes are, as things are and after the moves.
    fewest
        Proved limit on the latter.
    idle
        Nodes that are empty as things are, the dearest first, then by name.
    emptied
        Those that the moves empty, in the same order.
    filled
        Empty ones that get pods.
    moves
        By the node that they leave, in the order of ``emptied``.
    kept
        The rules that keep nodes in use, that of most nodes first.
    pending
        Pods that wait for a node; nothing here makes room for them.
    savings
        ``None`` without prices.
    not_judged
        What was left alone, or could not be seen.
    """

    in_use: int
    in_use_after: int
    fewest: int
    idle: tuple[Emptied, ...]
    emptied: tuple[Emptied, ...]
    filled: tuple[Emptied, ...]
    moves: tuple[Move, ...]
    kept: tuple[KeptInUse, ...]
    pending: int
    savings: Savings | None
    not_judged: tuple[NotJudged, ...]

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self.in_use + len(self.idle)


@dataclass(frozen=True, slots=True)
class Findings:
    """The answers.

    Attributes
    ----------
    nodes, running, pending
        What there is. Pods that wait for something else than a node do not count.
    fits_now
        Pending pods that the scheduler would place as things are.
    fits_after
        Pending pods that would have a node after ``moves`` and ``evictions``.
    moves
        The most telling first: as `telling` orders them.
    evictions
        In alphabetical order. An eviction is a running pod that would go pending, for
        others of higher priority only.
    proved
        Whether it is proved that no plan places more, or as many with less disruption.
    tiers
        The highest priority first.
    gain_by_moves
        How many more pods than now have a node with at most so many moves; ascending.
    left
        Pods that would stay pending.
    kept
        The rules that keep running pods where they are, that of most pods first.
    room
        By resource, as things are.
    emptying
        Which nodes could be emptied, and what that is worth; what was not judged of
        that stands with the rest.
    not_judged
        What was left alone, or could not be seen.
    """

    nodes: int
    running: int
    pending: int
    fits_now: int
    fits_after: int
    moves: tuple[Move, ...]
    evictions: tuple[str, ...]
    proved: bool
    tiers: tuple[Tier, ...]
    gain_by_moves: tuple[tuple[int, int], ...]
    left: tuple[StillPending, ...]
    kept: tuple[Kept, ...]
    room: tuple[Room, ...]
    emptying: Emptying
    not_judged: tuple[NotJudged, ...]


TOO_LARGE, PROVED, NOT_FOUND, NOT_JUDGED = (
    "too large",
    "proved",
    "not found",
    "not judged",
)
"""The verdicts on pods that stay pending."""


def telling(move: Move) -> tuple[int, int, str]:
    """Return the key by which the most telling moves come first.

    By the highest priority of the waiting pods that get a node where the pod leaves,
    then by how many these are; moves that make room for other moves come last.
    """
    if move.priority is None:
        return 2**31, 0, move.pod
    return -move.priority, -move.admits, move.pod
