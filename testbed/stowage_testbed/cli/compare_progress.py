"""How a comparison goes, on standard error."""

from __future__ import annotations

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.request import CompareListener, Turn
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.report.progress import LiveProgress


class CompareProgress(LiveProgress, CompareListener):
    """One bar over all turns, and one line for each that is done."""

    def turns_planned(self, total: int | None) -> None:
        """Show the bar."""
        text = f"{total} runs" if total is not None else "until all is decided"
        self.begin(text, total)

    def round_judged(self, comparison: Comparison) -> None:
        """Say what each arm's rounds have come to."""
        for one in comparison.verdicts:
            left = ", ".join(one.open) or "nothing"
            self.say(f"{one.arm} ({one.limits} limits), {one.rounds} rounds: {left} open")

    def turn_started(self, turn: Turn) -> None:
        """Show whose turn it is."""
        self.point(f"{turn.arm}, {turn.limits} limits, round {turn.round_number}")

    def turn_finished(self, turn: Turn, record: RunRecord) -> None:
        """Say what came of it, and advance."""
        bound = sum(pod.node != "" for pod in record.pods)
        text = record.error or f"{bound} pods placed, {record.window_s:.1f} s"
        self.say(f"{turn.arm} ({turn.limits} limits) round {turn.round_number}: {text}")
        self.advance()
