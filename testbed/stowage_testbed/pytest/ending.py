"""SIGTERM ends a pytest session in order: fixtures are torn down, clusters too."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import pytest

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_EXIT_BASE = 128


@contextmanager
def ending_session() -> Iterator[None]:
    """Make the signals that end a job end the session.

    pytest itself does so for Ctrl-C alone. A ``SystemExit`` would only fail the test
    that happens to run.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, _leave) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    pytest.exit(signal.Signals(number).name, returncode=_EXIT_BASE + number)
