"""Listeners to the progress of a comparison."""

from __future__ import annotations

from stowage_testbed.compare.session.order import Turn
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.run.listener import Listener


class CompareListener(Listener):
    """Receives every turn too; does nothing by itself."""

    def turn_started(self, turn: Turn, number: int, total: int) -> None:
        """Take note that an arm's turn begins."""

    def turn_finished(self, turn: Turn, record: RunRecord) -> None:
        """Take its record."""
