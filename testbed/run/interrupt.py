"""Ctrl-C and SIGTERM: the first one ends the run in order, later ones are too many."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class RunInterruptedError(BaseException):
    """The user or the system asked the run to stop.

    No ``Exception``, so that nothing on its way up takes it for a failure.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)

    @property
    def exit_code(self) -> int:
        """The exit code that a shell expects of a process ended by the signal."""
        return 128 + self.number


class Interrupts:
    """While active, the first ending signal raises; the clean-up is never cut short."""

    def __init__(self) -> None:
        self._former: dict[signal.Signals, Any] = {}
        self._raised = False

    def __enter__(self) -> Self:
        for number in ENDING_SIGNALS:
            self._former[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._raised:
            # No print: its lock may be held by the very code that was interrupted.
            os.write(sys.stderr.fileno(), b"stowage: cleaning up, one moment\n")
            return
        self._raised = True
        raise RunInterruptedError(number)
