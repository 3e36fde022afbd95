"""What was found out about a cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """A running pod that would go to another node."""

    pod: str
    from_node: str
    to_node: str


@dataclass(frozen=True, slots=True)
class StillPending:
    """Equal pods that would stay pending, and why.

    Attributes
    ----------
    rules
        Those that keep pods on nodes which else were large enough.
    """

    workload: str
    pods: int
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
        In thousandths of a core, or bytes.
    stranded
        Free on nodes on which no pod of the cluster fits any more for want of the other
        resource.
    """

    resource: str
    capacity: int
    free: int
    stranded: int


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
    moves, evictions
        In alphabetical order; an eviction is a running pod that would go pending, for
        others of higher priority only.
    proved
        Whether it is proved that no plan places more, or as many with less disruption.
    gain_by_moves
        How many pending pods fit with at most so many moves; ascending.
    left
        Pods that would stay pending.
    kept
        The rules that keep running pods where they are, that of most pods first.
    room
        By resource, as things are.
    used_nodes, needed_nodes, fewest_nodes
        Nodes that hold a pod that does not belong to its node; how many would do if
        pods moved, and the proved limit on that. ``None`` if it was not found out.
    emptied
        Nodes that could be emptied, in alphabetical order.
    consolidating_moves
        Moves that this takes.
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
    gain_by_moves: tuple[tuple[int, int], ...]
    left: tuple[StillPending, ...]
    kept: tuple[Kept, ...]
    room: tuple[Room, ...]
    used_nodes: int | None
    needed_nodes: int | None
    fewest_nodes: int | None
    emptied: tuple[str, ...]
    consolidating_moves: int
    not_judged: tuple[str, ...]
