"""What a step says of how well it kept its times."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.keeping_times import note_lateness, pace
from stowage_testbed.run.steps.pacing import Due, Pacing


def a_context(said: list[str], allowed_s: float = 1.0) -> StepContext:
    context: Any = SimpleNamespace(
        facts={},
        recorder=SimpleNamespace(report=said.append),
        run=SimpleNamespace(observer=SimpleNamespace(clock=ReceiptClock())),
        timeout_s=lambda: allowed_s,
    )
    return cast("StepContext", context)


def test_what_is_too_late_ends_the_step_with_a_way_out() -> None:
    """Arrivals that nobody keeps up with measure the API server."""
    with pytest.raises(StowageError, match=r"web was .* s late.* lower the rate"):
        pace(a_context([], allowed_s=0.1), [Due(-5.0, "web", bool)])


@pytest.mark.parametrize(("late", "words"), [(0, 0), (3, 1)])
def test_lateness_is_noted_and_told_if_there_was_any(late: int, words: int) -> None:
    """Who compares two runs has to know it."""
    said: list[str] = []
    context = a_context(said)
    note_lateness(context, Pacing(done=9, late=late, latest_s=0.25))

    assert context.facts == {"late": late, "latest_s": 0.25}
    assert len(said) == words
