"""The progress of a comparison, a line for each turn."""

from __future__ import annotations

from collections.abc import Callable

from stowage_testbed.compare.session.listener import CompareListener
from stowage_testbed.compare.session.order import Turn
from stowage_testbed.metrics.record import RunRecord


class ComparisonProgress(CompareListener):
    """Reports the result of each turn.

    Parameters
    ----------
    say
        Takes a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def turn_finished(self, turn: Turn, record: RunRecord) -> None:
        """Report its result."""
        placed = sum(pod.node != "" for pod in record.pods)
        said = record.error or f"{placed} pods placed, {record.window_s:.1f} s"
        where = f"{turn.arm}, {turn.limits} limits, round {turn.round_number}"
        self._say(f"  {where}: {said}")
