"""A child process as the service sees it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from stowage_optimizer.service.errors import WorkerStartError
from stowage_optimizer.service.packets import READY


@dataclass(slots=True)
class ChildProcess:
    """A child process and the way to talk to it.

    Parameters
    ----------
    pid
        Its process id.
    connection
        Carries the request there and the updates back.
    reap
        Waits for the process to end and returns its exit code.
    """

    pid: int
    connection: Connection
    reap: Callable[[int], int]
    _ready: bool = False
    _exit_code: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ready_lock: threading.Lock = field(default_factory=threading.Lock)

    def await_ready(self, limit_s: float) -> None:
        """Return when the process is ready to take its request.

        Raises
        ------
        WorkerStartError
            It ended, or ``limit_s`` seconds passed.
        """
        with self._ready_lock:
            if self._ready:
                return
            if not self.connection.poll(limit_s):
                raise WorkerStartError(f"nothing heard in {limit_s:g} s")
            try:
                self._ready = self.connection.recv_bytes() == READY
            except (EOFError, OSError):
                how = f"it ended with exit code {self.wait()}"
                raise WorkerStartError(how) from None

    def gone(self) -> bool:
        """Return whether an idle process that was ready has ended."""
        # An idle child sends nothing, so anything to read is its end.
        return self._ready and self.connection.poll()

    def kill(self) -> None:
        """Kill the process; harmless if it has ended."""
        with self._lock:
            if self._exit_code is None:
                # Without its fork server it has been killed and reaped already.
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return the exit code, or minus the signal, once the process has ended."""
        with self._lock:
            if self._exit_code is None:
                self._exit_code = self.reap(self.pid)
            return self._exit_code

    def close(self) -> None:
        """Kill the process and release it."""
        self.kill()
        self.wait()
        self.connection.close()
