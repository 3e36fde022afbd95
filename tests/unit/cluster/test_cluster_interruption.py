"""Requests to end: the first ends the work, the clean-up is never cut short."""

from __future__ import annotations

import os
import signal
import sys
import weakref
from pathlib import Path
from threading import Event

import pytest
from silent_cluster import SilentCluster

from stowage_testbed.cluster.interruption import ending_cleanly, running_cluster

DEADLINE_S = 10.0


class Recorder(SilentCluster):
    """A cluster that notes what it is asked to do, and may be hit while it does."""

    def __init__(self, workdir: Path, hit_in: str = "") -> None:
        super().__init__(workdir)
        self.asked: list[str] = []
        self._hit_in = hit_in

    def up(self) -> None:
        self._do("up")

    def down(self) -> None:
        self._do("down")

    def _do(self, what: str) -> None:
        self.asked.append(what)
        if self.asked.count(what) == 1 and what == self._hit_in:
            os.kill(os.getpid(), signal.SIGINT)
        self.asked.append(f"{what} done")


@pytest.mark.parametrize(
    ("number", "error"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)],
)
def test_the_first_request_raises(
    number: signal.Signals, error: type[BaseException]
) -> None:
    """CI systems end jobs with SIGTERM, people with Ctrl-C; both must clean up."""
    with ending_cleanly(), pytest.raises(error):
        os.kill(os.getpid(), number)


def test_later_requests_do_not_cut_the_clean_up_short() -> None:
    """An impatient second Ctrl-C would leave processes behind."""
    with ending_cleanly():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

        os.kill(os.getpid(), signal.SIGINT)


class Doomed:
    """Something with a finaliser, as connections of a pool have one."""


def test_a_request_that_a_finaliser_swallows_is_made_again() -> None:
    """The interpreter drops what is raised there: a run went on to its end."""

    def hit() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    doomed = [Doomed()]
    weakref.finalize(doomed[0], hit)

    def work() -> None:
        doomed.clear()
        Event().wait(DEADLINE_S)

    with ending_cleanly(), pytest.raises(SystemExit, match="143"):
        work()

    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_what_others_drop_is_still_reported() -> None:
    """The hook is for one exception only, and gone with the block."""
    raised: list[sys.UnraisableHookArgs] = []
    former, sys.unraisablehook = sys.unraisablehook, raised.append

    def fail() -> None:
        raise ValueError("of no interest")

    doomed = Doomed()
    weakref.finalize(doomed, fail)
    try:
        with ending_cleanly():
            del doomed
        assert sys.unraisablehook == raised.append
    finally:
        sys.unraisablehook = former

    assert [str(one.exc_value) for one in raised] == ["of no interest"]


def test_former_handlers_come_back() -> None:
    """The runner is also a library: pytest has handlers of its own."""
    former = signal.getsignal(signal.SIGINT)

    with ending_cleanly():
        assert signal.getsignal(signal.SIGINT) is not former

    assert signal.getsignal(signal.SIGINT) is former


def test_an_interrupt_in_the_middle_of_going_down_does_not_stop_it(
    tmp_path: Path,
) -> None:
    """The clean-up of a run that ends by itself can be hit as well."""
    cluster = Recorder(tmp_path, hit_in="down")

    with pytest.raises(KeyboardInterrupt), running_cluster(cluster):
        pass

    assert cluster.asked[-1] == "down done"
