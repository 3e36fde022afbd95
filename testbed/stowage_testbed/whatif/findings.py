"""What was found out about a cluster, and how a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stowage_testbed.text.table import Table


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


MIB = 2**20


def sentences(found: Findings) -> tuple[str, ...]:
    """Return the answers in a sentence each, the most asked for first."""
    return tuple(_sentences(found))


def tables(found: Findings) -> tuple[Table, ...]:
    """Return the details, without those of which there are none."""
    return tuple(table for table in _tables(found) if table.rows)


def _sentences(found: Findings) -> Iterator[str]:
    yield (
        f"{found.nodes} nodes, {found.running} running pods, "
        f"{found.pending} pods that wait for a node."
    )
    if found.pending:
        yield f"{found.fits_now} of the waiting pods fit as things are."
        after = f"{found.fits_after} would fit after {_count(len(found.moves), 'move')}"
        if found.evictions:
            after += f" and {_count(len(found.evictions), 'eviction')}"
        proof = (
            "; proved: no plan places more, nor as many with less disruption"
            if found.proved
            else "; more may be possible, the search was cut short by its time limit"
        )
        yield f"{after}{proof}."
    for room in found.room:
        share = room.stranded / room.capacity if room.capacity else 0
        yield (
            f"{room.resource}: {_amount(room, room.free)} of "
            f"{_amount(room, room.capacity)} free, of which "
            f"{_amount(room, room.stranded)} ({100 * share:.1f} % of all) are stranded."
        )
    if found.used_nodes is not None and found.needed_nodes is not None:
        spare = found.used_nodes - found.needed_nodes
        proof = (
            "proved to be the most"
            if found.needed_nodes == found.fewest_nodes
            else f"at most {found.used_nodes - (found.fewest_nodes or 0)} could be"
        )
        yield (
            f"{_count(spare, 'node')} of the {found.used_nodes} in use could be "
            f"emptied with {_count(found.consolidating_moves, 'move')} ({proof})."
        )


def _tables(found: Findings) -> Iterator[Table]:
    yield Table(
        "Moves that make room",
        ("pod", "from", "to"),
        tuple((one.pod, one.from_node, one.to_node) for one in found.moves),
    )
    yield Table(
        "Evictions, for pods of higher priority",
        ("pod",),
        tuple((name,) for name in found.evictions),
    )
    yield Table(
        "What fewer moves gain",
        ("moves, at most", "waiting pods that fit"),
        tuple((str(moves), str(placed)) for moves, placed in found.gain_by_moves),
    )
    yield Table(
        "Pods that stay pending",
        ("workload", "pods", "why", "rules in the way"),
        tuple(
            (one.workload, str(one.pods), one.reason, ", ".join(one.rules))
            for one in found.left
        ),
    )
    yield Table(
        "Running pods that stay where they are",
        ("rule", "pods", "for example"),
        tuple((one.rule, str(one.pods), one.example) for one in found.kept),
    )
    yield Table(
        "Nodes that could be emptied", ("node",), tuple((one,) for one in found.emptied)
    )
    yield Table("Not judged", ("what",), tuple((one,) for one in found.not_judged))


def _amount(room: Room, amount: int) -> str:
    if room.resource == "cpu":
        return f"{amount / 1000:.1f} cores"
    return f"{amount / MIB:,.0f} MiB"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
