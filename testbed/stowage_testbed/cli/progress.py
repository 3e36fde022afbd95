"""How a comparison and a sweep go, on standard error: a bar, or lines in a log."""

from time import monotonic

from rich.console import Console
from rich.progress import TextColumn, TimeRemainingColumn

from stowage_testbed.compare.comparison import Comparison, Turn
from stowage_testbed.compare.request import CompareListener
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.reproduce.sweep import SweepListener

LINE_EVERY_S = 30.0
"""In a log."""

SMOOTHED_OVER_S = 600.0
"""Tasks differ by orders of magnitude: the time left is of the mean of many."""


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


class SweepProgress(LiveProgress, SweepListener):
    """One bar a kind of task; failures are lines of their own."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, TextColumn("left"), TimeRemainingColumn(), smoothed_over_s=SMOOTHED_OVER_S)
        self._what, self._known, self._started_s = "", 0, 0.0

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        """Show the bar."""
        self._what, self._known = what, done
        self._started_s = self._said_s = monotonic()
        known = f", {done} of them known" if done else ""
        side_by_side = f", {workers} side by side" if workers > 1 else ""
        self.begin(f"{what}: {total}{known}{side_by_side}", total, what, done)

    def over(self, task_id: str, failure: str) -> None:
        """Advance."""
        self.advance()
        if failure:
            self.say(f"{task_id}: {failure}")
        now_s = monotonic()
        if not self._live and now_s - self._said_s >= LINE_EVERY_S:
            self._said_s = now_s
            (task,) = self._bar.tasks
            each_s = (now_s - self._started_s) / (task.completed - self._known)
            left_min = each_s * (task.remaining or 0) / 60
            self.say(f"{self._what}: {task.completed:.0f} of {task.total:.0f}, {left_min:.0f} min left")

    def ended(self) -> None:
        """Take the bar away."""
        self.close()
