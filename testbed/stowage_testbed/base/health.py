"""What must be well for a run to go on: every long wait looks, and ends by the name of the cause.

`needing` says what a block needs; `wait_until`, `SystemClock.pause`, `Observer.wait_for` and `run_child` call `check`.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stowage_testbed.base.errors import RunEndedError, StowageError

LOOK_EVERY_S = 0.25  # No wait goes on for longer without a look
CAUSE_S = 1.0
"""What fails may be ahead of its cause: a connection breaks before its server counts as ended, by milliseconds, on a
busy machine by a few hundred. Only what fails by itself waits so long."""

Look = Callable[[], object]  # Raises the error that something is not well

_needs: list[tuple[int, Look]] = []  # Of the blocks that threads are in, the outermost first, with the thread's number
_reports: list[StowageError] = []
_looked_s = 0.0


@contextmanager
def needing(look: Look) -> Iterator[None]:
    """Need something in the block: its waits, and its end, raise what ``look`` raises.

    That error takes the place of any other that the block raises up to a second before.
    """
    need = (threading.get_ident(), look)
    _needs.append(need)
    try:
        yield
        look()
    except Exception as error:
        # What ends the run is deeper than anything in it.
        cause = None if isinstance(error, RunEndedError) else _cause(look)
        if cause is None or str(cause) == str(error):
            raise
        raise cause from error
    finally:
        _needs.remove(need)
        if not _needs:
            _reports.clear()


def check() -> None:
    """Raise if what this thread needs is not well; looks at most every `LOOK_EVERY_S`."""
    global _looked_s  # noqa: PLW0603 - one clock for all waits
    if _needs and time.monotonic() - _looked_s >= LOOK_EVERY_S:
        for look in _own():
            look()
        if _reports and _own():
            raise_cause()
            raise _reports[0]
        _looked_s = time.monotonic()


def raise_cause() -> None:
    """Give the cause of an error a moment to show itself, and raise it; return if there is none."""
    for look in _own():
        if cause := _cause(look):
            raise cause


def is_well() -> bool:
    """Return whether all that this thread needs is well."""
    try:
        for look in _own():
            look()
    except StowageError:
        return False
    return not _reports


def report(error: StowageError) -> None:
    """Note in any thread that something has failed, which may have a deeper cause."""
    if _needs:
        _reports.append(
            error
            if isinstance(error, RunEndedError)
            else RunEndedError(f"an observer has ended ({error}), and the run with it.")
        )


def _own() -> list[Look]:
    thread = threading.get_ident()
    return [look for number, look in _needs if number == thread]


def _cause(look: Look) -> StowageError | None:
    deadline_s = time.monotonic() + CAUSE_S
    while True:
        try:
            look()
        except StowageError as cause:
            return cause
        if time.monotonic() >= deadline_s:
            return None
        threading.Event().wait(0.05)
