"""Warm child processes: one always is ready for the next call."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection

from stowage_optimizer.service.errors import WorkerStartError
from stowage_optimizer.service.settings import (
    LONGEST_PACKET,
    READY,
    WorkerSettings,
    opening_packet,
)


@dataclass(slots=True)
class ChildProcess:
    """A child process and the way to talk to it.

    Parameters
    ----------
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


STOP_LIMIT_S = 5.0
"""Time for an idle fork server to end after its socket has closed."""


@dataclass(slots=True)
class _ForkServer:
    process: subprocess.Popen[bytes]
    control: socket.socket

    def ask(self, request: str, descriptors: list[int]) -> str:
        """Send one request and return the answer; empty if the fork server is gone."""
        try:
            socket.send_fds(self.control, [request.encode()], descriptors)
            return self.control.recv(LONGEST_PACKET).decode()
        except (ConnectionError, TimeoutError):
            return ""

    def exit_code(self, pid: int) -> int:
        """Return that of a child, once it has ended."""
        # The kernel kills a child whose fork server is gone; its exit code is lost.
        gone = self.process.poll() is not None
        answer = "" if gone else self.ask(f"wait {pid}", [])
        return int(answer) if answer else -signal.SIGKILL

    def close(self) -> None:
        self.control.close()
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Workers:
    """Hands out warm children of a fork server."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        # A call that takes a ready child waits for no fork and no reaping.
        self._changed = threading.Condition()
        self._fork_server_lock = threading.Lock()
        self._fork_server: _ForkServer | None = None
        self._spare: ChildProcess | None = None
        self._failure: WorkerStartError | None = None
        self._closed = False

    def warm(self) -> None:
        """Return when a child is ready.

        Raises
        ------
        WorkerStartError
            No child got ready.
        """
        spare = self.prepare()
        if spare is not None:
            spare.await_ready(self._settings.start_limit_s)

    def prepare(self) -> ChildProcess | None:
        """Start the next child, if none is ready, and do not wait for it.

        Raises
        ------
        WorkerStartError
            None could be started.
        """
        with self._fork_server_lock:
            if self._spare is None and not self._closed:
                child = self._fork()
                with self._changed:
                    self._spare = child
                    self._changed.notify_all()
                return child
            return self._spare

    def take(self, limit_s: float | None = None) -> ChildProcess:
        """Return a ready child, which the caller must close.

        Parameters
        ----------
        limit_s
            How long the caller can wait; None: as long as a start may take.

        Raises
        ------
        WorkerStartError
            No child got ready in that time.
        """
        if limit_s is None:
            limit_s = self._settings.start_limit_s
        give_up_at = time.monotonic() + limit_s
        # It may have been killed while it waited, ready or not yet.
        with suppress(WorkerStartError):
            return _made_ready(self._next(give_up_at), give_up_at)
        return _made_ready(self._next(give_up_at), give_up_at)

    def _next(self, give_up_at: float) -> ChildProcess:
        """Return the spare child; if there is none, have one started in a thread."""
        with self._changed:
            if self._spare is None:
                self._failure = None
                threading.Thread(target=self._try_to_prepare, daemon=True).start()
                self._changed.wait_for(
                    lambda: self._spare is not None or self._failure is not None,
                    max(0.0, give_up_at - time.monotonic()),
                )
            spare, self._spare = self._spare, None
            if spare is None:
                raise self._failure or WorkerStartError("none was started in time")
            return spare

    def _try_to_prepare(self) -> None:
        try:
            self.prepare()
        except WorkerStartError as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def close(self) -> None:
        """Stop the spare child and the fork server; no other is started."""
        with self._fork_server_lock:
            self._closed = True
            with self._changed:
                spare, self._spare = self._spare, None
            if spare is not None:
                self._let_go(spare)
            if self._fork_server is not None:
                self._fork_server.close()
                self._fork_server = None

    def _fork(self) -> ChildProcess:
        if self._closed:
            raise WorkerStartError("the service is stopping")
        # A fork server that was killed is replaced, once.
        for _ in range(2):
            if self._fork_server is None:
                self._fork_server = self._start_fork_server()
            ours, theirs = socket.socketpair()
            with theirs:
                answer = self._fork_server.ask("fork", [theirs.fileno()])
            if answer:
                reap = partial(self._reap, self._fork_server)
                return ChildProcess(int(answer), Connection(ours.detach()), reap)
            ours.close()
            self._fork_server.close()
            self._fork_server = None
        raise WorkerStartError("the process that forks the children ended")

    def _start_fork_server(self) -> _ForkServer:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-m", "stowage_optimizer.service.fork_server"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                )
            except OSError as error:
                ours.close()
                raise WorkerStartError(str(error)) from None
        ours.settimeout(self._settings.start_limit_s)
        ours.send(opening_packet(self._settings))
        return _ForkServer(process, ours)

    def _reap(self, fork_server: _ForkServer, pid: int) -> int:
        if fork_server.process.poll() is not None:
            # Its successor may be starting, which takes longer than a caller waits.
            return -signal.SIGKILL
        with self._fork_server_lock:
            return fork_server.exit_code(pid)

    def _let_go(self, child: ChildProcess) -> None:
        child.kill()
        if self._fork_server is not None:
            self._fork_server.exit_code(child.pid)
        child.connection.close()


def _made_ready(child: ChildProcess, give_up_at: float) -> ChildProcess:
    try:
        child.await_ready(max(0.0, give_up_at - time.monotonic()))
        if child.gone():
            raise WorkerStartError("it ended while it was idle")
    except WorkerStartError:
        child.close()
        raise
    return child
