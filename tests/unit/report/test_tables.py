"""Tables that a person reads at the end of a run, and what is said meanwhile."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from outcomes import FAILED, a_run, an_outcome
from rich.console import Console

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.report import progress as progress_module
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.saved import make_saved_run
from stowage_testbed.report.showing import show_run


def test_the_screen_ends_with_what_went_wrong_and_the_verdict() -> None:
    """The second question after "did it fail" is "what did it do instead"."""
    run = a_run(an_outcome(checks=(FAILED,)), error="interrupted")
    text = show_run(make_saved_run(run, {}), run.outcomes, Path("results"))
    assert "pod c is pending" in text
    assert text.index("Scenarios") < text.index("Failed checks")
    assert "the run ended early: interrupted" in text
    assert "FAILED: 0 of 1 scenario runs passed in " in text


def shown(*, terminal: bool) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100)
    progress = LiveProgress(console)
    outcome = an_outcome(checks=(FAILED,))
    progress.run_started("run-1", 1)
    progress.run_progress("cluster run-ab12: up")
    progress.scenario_started(outcome.scenario, 1)
    progress.scenario_progress("waits for 3 pods")
    progress.scenario_ended(outcome)
    progress.run_finished(a_run(outcome))
    return stream.getvalue()


def test_without_a_terminal_every_step_is_a_line() -> None:
    """Escape codes in a CI log hide what happened; on a terminal the verdict stays."""
    text = shown(terminal=False)

    assert text.splitlines() == [
        "run run-1: 1 scenario runs",
        "cluster run-ab12: up",
        "paper/figure-1",
        "paper/figure-1: waits for 3 pods",
        "FAILED paper/figure-1 in 1.5 s",
        "  placed: expected 3, got 2",
    ]
    assert "FAILED paper/figure-1" in shown(terminal=True)


def test_a_step_that_takes_long_is_named_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CI log that stands still looks like a run that hangs."""
    assert progress_module.REMIND_AFTER_S < 5
    monkeypatch.setattr(progress_module, "REMIND_AFTER_S", 0.0)
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, force_terminal=False, width=100))
    progress.run_started("run-1", 1)
    try:
        progress.run_progress("cluster run-ab12: up")
        wait_until("a reminder", stream.getvalue, lambda text: "cluster run-ab12: up: " in text, timeout_s=HANG_S)
    finally:
        progress.close()
