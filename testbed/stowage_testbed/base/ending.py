"""Ending a block of the main thread from another thread, whatever it waits for."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stowage_testbed.base.errors import StowageError

_SIGNAL = signal.SIGRTMIN
"""Nothing else uses it; it also ends a system call that blocks."""
_AGAIN_S = 0.05


class EndingInterrupt(KeyboardInterrupt):
    """Raised in the main thread in the middle of whatever it does.

    An interrupt and no error: no handler on its way may take it for a failure of what
    was being done, and pytest ends its session for it.
    """

    def __init__(self, error: StowageError) -> None:
        super().__init__(str(error))
        self.error = error


class Ending:
    """The early end of one block; made by `ended_early`.

    Attributes
    ----------
    error
        Why the block has to end; ``None`` while it need not.
    reports
        Failures in threads of the block, which may have a deeper cause.
    """

    def __init__(self) -> None:
        self.error: StowageError | None = None
        self.reports: list[StowageError] = []
        self._raised = threading.Event()

    def now(self, error: StowageError) -> None:
        """End the block with an error, from any thread; the first one counts."""
        if self.error is None:
            self.error = error
            self._insist_soon(0.0)

    def interrupt(self) -> None:
        """Raise in the main thread, which calls this, if that is due."""
        if self.error is not None and not self._raised.is_set():
            self._raised.set()
            raise EndingInterrupt(self.error)

    def dropped(self, error: BaseException | None) -> bool:
        """Return whether an exception dropped by a finaliser was meant to end this."""
        ours = isinstance(error, EndingInterrupt) and error.error is self.error
        if ours:
            self._raised = threading.Event()
            # Not before the finaliser is over.
            self._insist_soon(_AGAIN_S)
        return ours

    def close(self) -> None:
        """Interrupt no block from now on."""
        _open.remove(self)
        self._raised.set()

    def _insist_soon(self, delay_s: float) -> None:
        insisting = threading.Timer(delay_s, self._insist)
        insisting.daemon = True
        insisting.start()

    def _insist(self) -> None:
        # A signal that comes just before a system call does not end that call.
        raised, main = self._raised, threading.main_thread().ident
        assert main is not None  # noqa: S101 - it was started before this
        while not raised.is_set():
            signal.pthread_kill(main, _SIGNAL)
            raised.wait(_AGAIN_S)


_open: list[Ending] = []
"""Of the blocks that the main thread is in, the outermost first."""


def report(error: StowageError) -> None:
    """Notify every open block that a thread has failed."""
    # It is not known here which of them the thread belongs to.
    for ending in tuple(_open):
        ending.reports.append(error)


def is_ending() -> bool:
    """Return whether a block that the main thread is in has to end."""
    return any(ending.error is not None for ending in _open)


def await_end(patience_s: float) -> None:
    """Give the cause of an error a moment to end the block; return if there is none.

    A connection breaks before its server counts as ended.
    """
    if _open:
        threading.Event().wait(patience_s)


@contextmanager
def ended_early() -> Iterator[Ending]:
    """Yield what other threads can end the block with.

    Its error leaves the block in place of whatever else does, but for an interrupt by
    the user. Elsewhere than in the main thread it is only raised at the block's end.
    """
    if threading.current_thread() is not threading.main_thread():
        ending = Ending()
        yield ending
        if ending.error is not None:
            raise ending.error
        return
    ending = Ending()
    former = signal.signal(_SIGNAL, _interrupt)
    hook = sys.unraisablehook

    def unraisable(what: sys.UnraisableHookArgs) -> None:
        # A finaliser ran just then, where the interpreter drops whatever is raised.
        if not ending.dropped(what.exc_value):
            hook(what)

    sys.unraisablehook = unraisable
    _open.append(ending)
    try:
        try:
            yield ending
        finally:
            ending.close()
            sys.unraisablehook = hook
            signal.signal(_SIGNAL, former)
    except EndingInterrupt as interrupt:
        if interrupt.error is not ending.error:
            raise
    except Exception as error:
        if ending.error is None:
            raise
        raise ending.error from error
    if ending.error is not None:
        raise ending.error


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for ending in tuple(_open):
        if ending.error is not None:
            # Of several that are due, the outermost ends the others as well. An inner
            # one, raised while that is on its way, would take its place.
            ending.interrupt()
            return
