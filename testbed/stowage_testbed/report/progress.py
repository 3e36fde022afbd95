"""Live progress on standard error: a bar on a terminal, plain lines elsewhere."""

import time
from contextlib import ExitStack

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

from stowage_testbed.report.showing import take_first_lines
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.toolchain.progress import repeating

REMIND_AFTER_S = 4.0
SMOOTHED_OVER_S = 30.0
_LOOK_EVERY_S = 0.5


class LiveProgress(Listener):
    """One bar over all scenario runs, and one line for each that is done.

    Without a terminal there is no bar: every step is a line of its own, as logs want.
    Of a run a step that takes long is named again every few seconds.
    """

    def __init__(
        self, console: Console | None = None, *columns: ProgressColumn, smoothed_over_s: float = SMOOTHED_OVER_S
    ) -> None:
        self._console = console or Console(stderr=True)
        self._live = self._console.is_terminal
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            *columns,
            console=self._console,
            transient=True,
            refresh_per_second=4,
            speed_estimate_period=smoothed_over_s,
            disable=not self._live,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._current = ""
        self._said, self._said_s, self._began_s = "", 0.0, 0.0
        self._reminders = ExitStack()

    def say(self, text: str) -> None:
        """Print one line above the bar."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away; safe to call twice."""
        self._reminders.close()
        self._bar.stop()

    def begin(self, text: str, total: int | None, current: str = "starting", done: int = 0) -> None:
        """Say what begins, and show the bar."""
        self.say(text)
        self._bar.reset(self._task, total=total, completed=done, description=current)
        self._bar.start()

    def point(self, text: str) -> None:
        """Show which of them begins."""
        self._current = text
        self.run_progress(text)

    def advance(self) -> None:
        """Take note that it is done."""
        self._bar.advance(self._task)

    def run_started(self, run_id: str, total: int) -> None:
        """Show the bar."""
        self.begin(f"run {run_id}: {total} scenario runs", total)
        if not self._live:
            self._began(f"run {run_id}")
            self._reminders.enter_context(repeating(self._remind, _LOOK_EVERY_S))

    def run_progress(self, text: str) -> None:
        """Show a step of the run as a whole."""
        if self._live:
            self._bar.update(self._task, description=text)
        else:
            self._began(text)
            self.say(text)

    def scenario_started(self, scenario: Scenario, repeat: int) -> None:
        """Show which scenario begins."""
        round_text = f" round {repeat}" if repeat > 1 else ""
        self.point(f"{scenario.scenario_id}{round_text}")

    def scenario_progress(self, text: str) -> None:
        """Show what the scenario waits for."""
        self.run_progress(f"{self._current}: {text}")

    def scenario_ended(self, outcome: ScenarioOutcome) -> None:
        """Print how it ended."""
        seconds = sum(outcome.durations_s.values())
        result = "passed" if outcome.passed else "FAILED"
        self.say(f"{result} {self._current} in {seconds:.1f} s")
        for line in take_first_lines(outcome.failures):
            self.say(f"  {line}")
        if outcome.error:
            self.say(f"  {outcome.error}")
        self.advance()

    def run_finished(self, outcome: RunOutcome) -> None:
        """Take the bar away."""
        self.close()

    def _began(self, text: str) -> None:
        self._said, self._said_s = text, time.monotonic()
        self._began_s = self._said_s

    def _remind(self) -> None:
        """Name the step again that nothing was said of for long."""
        now_s = time.monotonic()
        if now_s - self._said_s >= REMIND_AFTER_S:
            self._said_s = now_s
            self.say(f"{self._said}: {now_s - self._began_s:.0f} s")
