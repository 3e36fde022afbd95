"""Ending signals: the first ends the run, the clean-up is never cut short."""

from __future__ import annotations

import os
import signal

import pytest

from testbed.run.interrupt import Interrupts, RunInterruptedError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_raises(number: signal.Signals) -> None:
    """CI systems end jobs with SIGTERM, people with Ctrl-C; both must clean up."""
    with Interrupts(), pytest.raises(RunInterruptedError) as caught:
        os.kill(os.getpid(), number)

    assert caught.value.exit_code == 128 + number


def test_no_failure_handler_swallows_it() -> None:
    """A scenario's error is recorded and the run goes on; an interrupt ends it."""
    assert not issubclass(RunInterruptedError, Exception)


def test_later_signals_do_not_cut_the_clean_up_short(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """An impatient second Ctrl-C would leave processes behind."""
    with Interrupts():
        with pytest.raises(RunInterruptedError):
            os.kill(os.getpid(), signal.SIGINT)

        os.kill(os.getpid(), signal.SIGINT)

    assert "cleaning up" in capfd.readouterr().err


def test_former_handlers_come_back() -> None:
    """The runner is also a library: pytest has handlers of its own."""
    former = signal.getsignal(signal.SIGINT)

    with Interrupts():
        assert signal.getsignal(signal.SIGINT) is not former

    assert signal.getsignal(signal.SIGINT) is former
