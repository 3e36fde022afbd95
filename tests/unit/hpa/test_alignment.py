"""A run begins a little after a scrape, neither with it nor anywhere in between."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.run.recovery.alignment import MARGIN_S, Readings, await_fresh

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Still:
    """A clock that stands, so that no test waits."""

    def now(self) -> float:
        return 0.0

    def pause(self, seconds: float) -> None:
        assert seconds > 0


def at(second: float, *pods: str) -> Readings:
    return dict.fromkeys(pods, NOON + timedelta(seconds=second))


def test_it_waits_for_new_readings_of_all_pods_and_for_their_age() -> None:
    answers: Iterator[Readings] = iter(
        [{}, at(0, "a"), at(10, "a", "b"), at(10, "a", "b"), at(20, "a", "b")]
    )
    ages: Iterator[float] = iter([20.1, 20.9, 20 + MARGIN_S])

    await_fresh(
        lambda: next(answers),
        2,
        timeout_s=60.0,
        now=lambda: NOON + timedelta(seconds=next(ages)),
        clock=Still(),
    )

    assert next(answers, None) is None
    assert next(ages, None) is None


def test_a_pod_without_new_reading_is_waited_for_and_named_in_the_end() -> None:
    """Half of the pods at the old scrape would align the run to neither."""
    answers = iter([at(0, "a", "b")] * 2)

    with pytest.raises(WaitTimeoutError, match="again"):
        await_fresh(
            lambda: {**next(answers), **at(5, "a")}, 2, timeout_s=0.0, clock=Still()
        )
