"""What is shown of a policy's day: a screen, or all of it as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stowage_testbed.amounts.price import MICROS
from stowage_testbed.policyday.figures import ArmFigures, WindowFigures
from stowage_testbed.text.table import Table

MOST_REASONS = 5
"""Reasons of an arm on the screen; JSON has all."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A policy's day with some arms.

    Attributes
    ----------
    day
        What it is called: a file, or how it was made.
    hours, nodes
        How long it is, and how many nodes it has.
    """

    policy: str
    day: str
    hours: float
    nodes: int
    cool_down_s: float
    arms: tuple[ArmFigures, ...]

    def document(self) -> Mapping[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self)


def make_tables(tried: Tried) -> Iterator[Table]:
    """Yield what fits on a screen."""
    yield _tabulate_arms(tried)
    yield _tabulate_windows(tried.arms)
    reasons = _tabulate_reasons(tried.arms)
    if reasons.rows:
        yield reasons


def _tabulate_arms(tried: Tried) -> Table:
    rows = tuple(
        (
            one.arm,
            f"{one.nodes_mean:.1f}",
            f"{one.node_hours:.0f}",
            f"{one.cost_micros / MICROS:.2f}" if one.cost_micros else "",
            f"{one.waiting_pod_hours:.2f}",
            str(one.emptied),
            str(one.moves),
            "" if one.moves_per_node is None else f"{one.moves_per_node:.1f}",
            str(one.budgets_broken),
            str(one.moved_twice),
        )
        for one in tried.arms
    )
    headers = (
        "arm", "nodes\nin use", "node\nhours", "cost", "pod hours\nwaited",
        "nodes\nemptied", "moves", "moves\na node", "budgets\nbroken",
        "moved\ntwice",
    )  # fmt: skip
    note = (
        f"{tried.hours:.2f} h on {tried.nodes} nodes. Nodes in use are averaged over "
        f"time; moved twice is within {tried.cool_down_s / 3600:g} h."
    )
    return Table(f"{tried.policy} on {tried.day}, in virtual time", headers, rows, (note,))


def _tabulate_windows(arms: Sequence[ArmFigures]) -> Table:
    rows = tuple(
        (
            _clock(one.start_s),
            _clock(one.end_s),
            arm.arm,
            str(one.nodes_before),
            str(one.nodes_after),
            _of_most(one),
            str(one.moves),
        )
        for arm in arms
        for one in arm.windows
    )
    headers = (
        "from", "until", "arm", "nodes\nbefore", "after", "emptied\n(at most)",
        "moves",
    )  # fmt: skip
    note = (
        "In brackets: proved for the cluster as it was when the window opened; pods "
        "that come or go later may make more of it possible, or less."
    )
    return Table("Windows", headers, tuple(sorted(rows, key=lambda row: row[0])), (note,))


def _tabulate_reasons(arms: Sequence[ArmFigures]) -> Table:
    rows = tuple(
        (arm.arm, str(times), reason) for arm in arms for reason, times in list(arm.refused.items())[:MOST_REASONS]
    )
    return Table("What was left where it was", ("arm", "times", "why"), rows)


def _of_most(window: WindowFigures) -> str:
    if window.most_emptied is None:
        return str(window.emptied)
    return f"{window.emptied} ({window.most_emptied})"


def _clock(at_s: float) -> str:
    hours, seconds = divmod(round(at_s), 3600)
    return f"{hours:02}:{seconds // 60:02}"
