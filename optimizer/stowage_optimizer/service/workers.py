"""Warm child processes: one always is ready for the next call."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from stowage_optimizer.service.errors import WorkerStartError
from stowage_optimizer.service.settings import FORK, LONGEST_PACKET, READY, WARM, WorkerSettings, opening_packet


@dataclass(slots=True)
class ChildProcess:
    """A child process and the way to talk to it.

    Parameters
    ----------
    pidfd
        Stands for this very process, never for another one that gets its number.
    connection
        Carries the request there and the updates back.
    status
        Brings the exit code; closed without one where the fork server is gone.
    """

    pidfd: int
    connection: Connection
    status: socket.socket
    _exit_code: int | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def await_ready(self, limit_s: float) -> None:
        """Return when the process is ready to take its request; else it is closed.

        Raises
        ------
        WorkerStartError
            It ended, or ``limit_s`` seconds passed.
        """
        with suppress(EOFError, OSError):
            if not self.connection.poll(limit_s):
                self.close()
                raise WorkerStartError(f"nothing heard in {limit_s:g} s")
            if self.connection.recv_bytes() == READY:
                return
        how = f"it ended with exit code {self.wait()}"
        self.close()
        raise WorkerStartError(how)

    def gone(self) -> bool:
        """Return whether an idle process that was ready has ended."""
        # An idle child sends nothing, so anything to read is its end.
        return self.connection.poll()

    def kill(self) -> None:
        """Kill the process; harmless if it has ended."""
        with self._lock, suppress(ProcessLookupError):
            if not self._closed:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def wait(self) -> int:
        """Return the exit code, or minus the signal, once the process has ended."""
        if self._exit_code is None:
            said = b""
            with suppress(OSError):
                said = self.status.recv(LONGEST_PACKET)
            # The kernel kills a child whose fork server is gone; its exit code is lost.
            self._exit_code = int(said or -signal.SIGKILL)
        return self._exit_code

    def close(self) -> None:
        """Kill the process and release it."""
        self.kill()
        self.wait()
        with self._lock:
            self._closed = True
            os.close(self.pidfd)
        self.status.close()
        self.connection.close()


STOP_LIMIT_S = 5.0
"""Time for an idle fork server to end after its socket has closed."""


class ForkServer:
    """A fork server's process and the socket of its packets.

    Raises
    ------
    WorkerStartError
        It could not be started.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "stowage_optimizer.service.fork_server"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                )
            except OSError as error:
                self._control.close()
                raise WorkerStartError(str(error)) from None

    def warm_up(self) -> None:
        """Return when it is ready for requests.

        Raises
        ------
        WorkerStartError
            It ended, or did not get warm in time.
        """
        limit_s, why = self._settings.warm_up_limit_s, "the process that forks the children ended"
        self._control.settimeout(limit_s)
        try:
            self._control.send(opening_packet(self._settings))
            if self._control.recv(LONGEST_PACKET) == WARM:
                return
        except TimeoutError:
            why = f"the process that forks the children was not warm in {limit_s:g} s"
        except OSError:
            pass  # it ended
        raise WorkerStartError(why)

    def fork(self) -> ChildProcess | None:
        """Return a new child; None if the fork server ended, or does not answer in time."""
        ours, theirs = socket.socketpair()
        status, reported = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pidfds: list[int] = []
        with suppress(OSError), theirs, reported:
            self._control.settimeout(self._settings.start_limit_s)
            socket.send_fds(self._control, [FORK], [theirs.fileno(), reported.fileno()])
        status.settimeout(self._settings.start_limit_s)
        with suppress(OSError):
            _, pidfds, _, _ = socket.recv_fds(status, LONGEST_PACKET, 1)
        if pidfds:
            return ChildProcess(pidfds[0], Connection(ours.detach()), status)
        ours.close()
        status.close()
        return None

    def close(self) -> None:
        """End the process, and whatever waits for its answer; the kernel kills its children."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()


class Workers:
    """Hands out warm children of a fork server; the next one is started by a thread of its own."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._starter = ThreadPoolExecutor(1, "workers")
        self._lock = threading.Lock()
        self._spare: Future[ChildProcess] | None = None
        self._fork_server: ForkServer | None = None
        self._closed = False

    def warm(self) -> None:
        """Return when a child is ready.

        Raises
        ------
        WorkerStartError
            No child got ready.
        """
        self.prepare().result()

    def prepare(self) -> Future[ChildProcess]:
        """Have the next child started, unless one is ready or on its way.

        Raises
        ------
        WorkerStartError
            The service is stopping.
        """
        with self._lock:
            if self._closed:
                raise WorkerStartError("the service is stopping")
            if self._spare is None:
                self._spare = self._starter.submit(self._start)
            return self._spare

    def take(self, limit_s: float) -> ChildProcess:
        """Return a ready child, which the caller must close; for one caller at a time.

        Parameters
        ----------
        limit_s
            How long the caller can wait.

        Raises
        ------
        WorkerStartError
            No child got ready in that time.
        """
        give_up_at = time.monotonic() + limit_s
        # It may have been killed while it waited, ready or not yet.
        with suppress(WorkerStartError):
            return self._next(give_up_at)
        return self._next(give_up_at)

    def close(self) -> None:
        """Stop the spare child and the fork server; no other is started."""
        with self._lock:
            self._closed = True
        self._end_fork_server()
        self._starter.shutdown()
        if self._spare is not None and self._spare.exception() is None:
            self._spare.result().close()
        self._end_fork_server()

    def _next(self, give_up_at: float) -> ChildProcess:
        spare = self.prepare()
        if not wait([spare], max(0.0, give_up_at - time.monotonic())).done:
            raise WorkerStartError("none was started in time")
        with self._lock:
            self._spare = None
        child = spare.result()
        if child.gone():
            child.close()
            raise WorkerStartError("it ended while it was idle")
        return child

    def _start(self) -> ChildProcess:
        # A fork server that was killed, or that no longer answers, is replaced, once.
        for _ in range(2):
            child = (self._fork_server or self._start_fork_server()).fork()
            if child is not None:
                child.await_ready(self._settings.start_limit_s)
                return child
            self._end_fork_server()
        raise WorkerStartError("the process that forks the children ended")

    def _start_fork_server(self) -> ForkServer:
        # Known before it is warm: a service that stops does not wait for that.
        self._fork_server = fork_server = ForkServer(self._settings)
        try:
            if self._closed:
                raise WorkerStartError("the service is stopping")
            fork_server.warm_up()
        except WorkerStartError:
            self._end_fork_server()
            raise
        return fork_server

    def _end_fork_server(self) -> None:
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is not None:
            fork_server.close()
