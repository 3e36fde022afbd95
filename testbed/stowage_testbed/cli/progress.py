"""How a comparison and a sweep go, on standard error: a bar, or lines in a log."""

from __future__ import annotations

from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.request import CompareListener, Turn
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.reproduce.sweep.execution import SweepListener

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


class SweepProgress(SweepListener):
    """One bar a kind of task; failures are lines of their own."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            speed_estimate_period=SMOOTHED_OVER_S,
            disable=not self._console.is_terminal,
        )
        self._what = ""
        self._total = self._done = self._began_with = 0
        self._began = self._said = monotonic()

    def say(self, text: str) -> None:
        """Print one line above the bar."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        """Show the bar."""
        self._what, self._total = what, total
        self._done = self._began_with = done
        self._began = self._said = monotonic()
        known = f", {done} of them known" if done else ""
        side_by_side = f", {workers} side by side" if workers > 1 else ""
        self.say(f"{what}: {total}{known}{side_by_side}")
        self._task = self._bar.add_task(what, total=total, completed=done)
        self._bar.start()

    def over(self, task_id: str, failure: str) -> None:
        """Advance."""
        self._done += 1
        self._bar.advance(self._task)
        if failure:
            self.say(f"{task_id}: {failure}")
        now = monotonic()
        if not self._console.is_terminal and now - self._said >= LINE_EVERY_S:
            self._said = now
            here = self._done - self._began_with
            left_s = (now - self._began) / here * (self._total - self._done)
            done = f"{self._done} of {self._total}"
            self.say(f"{self._what}: {done}, {left_s / 60:.0f} min left")

    def ended(self) -> None:
        """Take the bar away."""
        self._bar.remove_task(self._task)
        self._bar.stop()
