"""Which of two results is better: as the thesis counts it, and tier by tier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stowage_testbed.reproduce.instance.evaluation import Solved
from stowage_testbed.reproduce.instance.rows import PENDING
from stowage_testbed.reproduce.thesis.instances import ThesisRow


@dataclass(frozen=True, slots=True)
class ThesisSolved(Solved[ThesisRow]):
    """A result and its instance."""


class Outcome(StrEnum):
    """What became of an instance (section 4.4.4)."""

    OPTIMAL = "optimal"
    BETTER = "better"
    NOTHING = "no better"


def outcome(one: ThesisSolved) -> Outcome:
    """Return what became of an instance: better means that more pods have a node.

    An answer that is proved, and no better than the start, counts as nothing: the
    thesis's plugin would discard it.
    """
    start = one.instance.placed_by_priority(one.instance.start)
    if one.placed_by_priority <= start:
        return Outcome.NOTHING
    return Outcome.OPTIMAL if one.result.optimal else Outcome.BETTER


def published_worth(one: ThesisSolved) -> tuple[int, int, int]:
    """Return what the thesis compares before time: pods added, removed, moved."""
    added = sum(before == PENDING != after for before, after in zip(one.instance.start, one.result.plan, strict=True))
    return added, -one.result.evictions, -one.result.moves


@dataclass(frozen=True, slots=True)
class WinCounts:
    """How often one solver is better than another: by pods added, removed, then moved.

    It is faster in so many of the cases in which both are the same.
    """

    better: int
    worse: int
    same: int
    faster: int


def win_counts(pairs: Iterable[tuple[ThesisSolved, ThesisSolved]]) -> WinCounts:
    """Return the counts of pairs, from the first one's side."""
    better = worse = same = faster = 0
    for one, other in pairs:
        mine, theirs = published_worth(one), published_worth(other)
        better += mine > theirs
        worse += mine < theirs
        if mine == theirs:
            same += 1
            faster += one.result.wall_s < other.result.wall_s
    return WinCounts(better, worse, same, faster)


def losses(pairs: Iterable[tuple[ThesisSolved, ThesisSolved]]) -> list[str]:
    """Return the instances on which the first of a pair ends worse, tier by tier."""
    return [one.instance.case for one, other in pairs if one.worth < other.worth]
