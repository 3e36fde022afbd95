"""Creating pods at their times, on a clock that a test moves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.receipt import NS_PER_S, ReceiptClock
from stowage_testbed.run.steps.pacing import Due, Pacer, Pacing


class TooLateError(StowageError):
    """What the pacer must raise."""


class FakeCluster:
    """A clock that only moves when somebody waits or works.

    Every pause ends ``oversleep_s`` too late, and every act takes ``work_s``.
    """

    def __init__(self, oversleep_s: float = 0.0, work_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.done_s: dict[str, float] = {}
        self._oversleep_s = oversleep_s
        self._work_s = work_s

    def run(self, times_s: list[float], allowed_s: float = 60.0) -> Pacing:
        clock = ReceiptClock(lambda: round(self.now_s * NS_PER_S), lambda: 0)
        pacer = Pacer(
            clock,
            allowed_s,
            lambda name, late_s: TooLateError(f"{name} {late_s:.1f}"),
            writers=1,
            pause=self._pause,
        )
        dues = [
            Due(at_s, f"p{n}", self._act(f"p{n}")) for n, at_s in enumerate(times_s)
        ]
        return pacer.run(dues)

    def _pause(self, seconds: float) -> None:
        self.now_s += seconds + self._oversleep_s

    def _act(self, name: str) -> Callable[[], None]:
        def act() -> None:
            self.done_s[name] = round(self.now_s - 100.0, 6)
            self.now_s += self._work_s

        return act


def test_each_pod_comes_at_its_time() -> None:
    """The times are counted from one start."""
    cluster = FakeCluster()

    pacing = cluster.run([0.0, 0.5, 0.5, 2.0])

    assert cluster.done_s == {"p0": 0.0, "p1": 0.5, "p2": 0.5, "p3": 2.0}
    assert pacing == Pacing(done=4, late=0, latest_s=0.0)


def test_pauses_that_are_too_long_do_not_add_up() -> None:
    """A thousand pods, each 1 ms late, must not end a second late."""
    cluster = FakeCluster(oversleep_s=0.001)

    pacing = cluster.run([n * 0.01 for n in range(1, 1001)])

    assert cluster.done_s["p999"] == pytest.approx(10.0, abs=0.002)
    assert pacing.late == 0
    assert pacing.latest_s == pytest.approx(0.001)


def test_requests_that_take_time_do_not_put_off_the_next_pod() -> None:
    """The time that a request takes is taken from the pause."""
    cluster = FakeCluster(work_s=0.005)

    cluster.run([n * 0.01 for n in range(100)])

    assert cluster.done_s["p99"] == pytest.approx(0.99)


def test_late_pods_come_at_once_and_are_counted() -> None:
    """A rate that the API server cannot keep up with must not go unnoticed."""
    cluster = FakeCluster(work_s=0.1)

    pacing = cluster.run([0.0, 0.01, 0.02, 0.03])

    assert cluster.done_s == {"p0": 0.0, "p1": 0.1, "p2": 0.2, "p3": 0.3}
    assert (pacing.done, pacing.late) == (4, 3)
    assert pacing.latest_s == pytest.approx(0.27)


def test_a_pod_that_is_too_late_ends_it() -> None:
    """Hours later the arrivals are not those that were asked for."""
    cluster = FakeCluster(work_s=1.0)

    with pytest.raises(TooLateError, match=r"p3 2\.7"):
        cluster.run([0.0, 0.1, 0.2, 0.3], allowed_s=2.5)

    assert list(cluster.done_s) == ["p0", "p1", "p2"]


def test_the_first_refusal_is_raised_and_ends_it() -> None:
    """What the API server refuses once it would refuse a thousand times."""
    done: list[str] = []

    def refuse() -> None:
        raise TooLateError("no")

    dues = [
        Due(0.0, "a", lambda: done.append("a")),
        Due(0.0, "b", refuse),
        Due(0.0, "c", lambda: done.append("c")),
    ]
    pacer = Pacer(ReceiptClock(), 1.0, lambda name, _: TooLateError(name), writers=1)

    with pytest.raises(TooLateError, match="no"):
        pacer.run(dues)

    assert done == ["a"]


def test_several_writers_do_everything_once() -> None:
    """One request at a time would bound the rate."""
    done: list[int] = []
    dues = [Due(0.0, str(n), partial(done.append, n)) for n in range(500)]
    pacer = Pacer(ReceiptClock(), 60.0, lambda name, _: TooLateError(name), writers=8)

    pacing = pacer.run(dues)

    assert sorted(done) == list(range(500))
    assert pacing.done == 500
