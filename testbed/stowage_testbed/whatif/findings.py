"""What was found out about a cluster, as values; screen, tables and JSON show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stowage_testbed.text.lines import first_of


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
    """What is proved, and of what.

    Attributes
    ----------
    holds
        Whether it is proved that no plan places more, or as many with less disruption,
        of all plans that ``about`` names, ``not_about`` left aside.
    about
        The pods and the plans.
    not_about
        What was left aside. With any of it nothing is proved about the whole cluster.
    limits
        Those of it that are limits on plans.
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
    """A node that autoscalers may not remove: no plan claims to empty it.

    The reason is the annotation that says so.
    """

    name: str
    reason: str


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
class HourlyPrice:
    """What an hour of the nodes in use costs, in millionths of whatever currency.

    As things are, and if pods moved, with the proved limit on that.
    """

    used_micros: int
    needed_micros: int
    least_micros: int


@dataclass(frozen=True, slots=True)
class NotJudged:
    """What was left alone, or could not be seen.

    The subject, a pod class, an owner or an object, is empty for a whole kind.
    """

    reason: str
    subject: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """The answers.

    Attributes
    ----------
    nodes, running, pending
        What there is. Pods that wait for something else than a node do not count, nor
        do those of other schedulers.
    fits_now
        Pending pods that the scheduler would place as things are.
    untried
        Pending pods to which it did not come in time; of these, too, some may fit.
    fits_after
        Pending pods that would have a node after ``moves`` and ``evictions``, by the
        plan, or because the scheduler places them then. The same pods are counted.
    moves
        The most telling first: as `telling` orders them.
    evictions
        In alphabetical order. An eviction is a running pod that would go pending, for
        others of higher priority only.
    proved
        Whether it is proved that no plan places more, or as many with less disruption:
        of the whole cluster, with nothing left aside.
    proof
        What is proved where that is less.
    tiers
        The highest priority first.
    gain_by_moves
        How many more pods than now have a node with at most so many moves; ascending.
        With none it is what the scheduler places as things are.
    left
        Pods that would stay pending.
    kept
        The rules that keep running pods where they are, that of most pods first.
    room
        By resource, as things are.
    used_nodes, needed_nodes, fewest_nodes
        Nodes that hold a pod that does not belong to its node, or that autoscalers may
        not remove; how many would do if pods moved, and the proved limit on that.
        ``None`` if it was not found out. Where nodes have prices these are the
        cheapest, not the fewest.
    emptied
        Nodes that could be emptied, in alphabetical order.
    consolidating_moves
        Moves that this takes.
    hourly_price
        ``None`` if it was not found out, or no node has a price.
    not_judged
        What was left alone, or could not be seen.
    elsewhere
        Pods that wait for other schedulers.
    irremovable
        Nodes that stay in use whatever runs there.
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


def irremovable_in_words(nodes: Sequence[IrremovableNode]) -> Iterator[str]:
    """Yield which nodes stay in use whatever runs there, by annotation."""
    for reason in dict.fromkeys(one.reason for one in nodes):
        names = [one.name for one in nodes if one.reason == reason]
        yield f"Nodes that stay by {reason}: {first_of(names, IRREMOVABLE)}."


IRREMOVABLE = 2
"""Nodes that are named in a line."""

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


def telling(move: Move) -> tuple[int, int, str]:
    """Return the key by which the most telling moves come first.

    By the highest priority of the waiting pods that get a node where the pod leaves,
    then by how many these are; moves that make room for other moves come last.
    """
    if move.priority is None:
        return 2**31, 0, move.pod
    return -move.priority, -move.admits, move.pod
