"""Warm child processes: one always is ready for the next call."""

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
from stowage_optimizer.service.settings import LONGEST_PACKET, READY, WorkerSettings, opening_packet


@dataclass(slots=True)
class ChildProcess:
    """A child process and the way to talk to it.

    Parameters
    ----------
    connection
        Carries the request there and the updates back.
    reap
        Waits for the process to end and returns its exit code.
    parent
        Process id of its fork server.
    """

    pid: int
    parent: int
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
            # Without its fork server it has been killed and reaped already, and its
            # number may be that of a stranger by now.
            if self._exit_code is None and _is_child(self.pid, self.parent):
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
class ForkServer:
    """A fork server's process and the socket of its packets.

    Parameters
    ----------
    reply_limit_s
        Time for one answer. A later one is dropped: each bears the number of its
        request.
    """

    process: subprocess.Popen[bytes]
    control: socket.socket
    reply_limit_s: float
    _asked: int = 0

    def await_warm(self, limit_s: float) -> bool:
        """Return whether it is ready for requests, within ``limit_s`` seconds."""
        return self._answer_to(0, limit_s) != ""

    def fork(self, descriptor: int) -> int | None:
        """Return the process id of a new child, or None if there is none."""
        pid = self._number(self._ask("fork", [descriptor]))
        return pid if pid is not None and _is_child(pid, self.process.pid) else None

    def exit_code(self, pid: int) -> int:
        """Return that of a child, once it has ended."""
        # The kernel kills a child whose fork server is gone; its exit code is lost.
        gone = self.process.poll() is not None
        code = None if gone else self._number(self._ask(f"wait {pid}", []))
        return -signal.SIGKILL if code is None else code

    def _ask(self, request: str, descriptors: list[int]) -> str:
        """Send one request and return the answer; empty if none came."""
        self._asked += 1
        packet = f"{self._asked} {request}".encode()
        try:
            self.control.settimeout(self.reply_limit_s)
            socket.send_fds(self.control, [packet], descriptors)
        except OSError:
            return ""
        return self._answer_to(self._asked, self.reply_limit_s)

    def _answer_to(self, number: int, limit_s: float) -> str:
        give_up_at = time.monotonic() + limit_s
        try:
            while (left_s := give_up_at - time.monotonic()) > 0:
                self.control.settimeout(left_s)
                packet = self.control.recv(LONGEST_PACKET).decode()
                if not packet:
                    return ""
                answered, _, answer = packet.partition(" ")
                if answered == str(number):
                    return answer
        except OSError:
            return ""
        return ""

    @staticmethod
    def _number(answer: str) -> int | None:
        return int(answer) if answer.removeprefix("-").isdecimal() else None

    def interrupt(self) -> None:
        """End whatever waits for an answer."""
        with suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the process; the kernel kills its children."""
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
        self._fork_server: ForkServer | None = None
        self._warming: ForkServer | None = None
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
        self._closed = True
        if (warming := self._warming) is not None:
            warming.interrupt()
        with self._fork_server_lock:
            with self._changed:
                spare, self._spare = self._spare, None
            if spare is not None:
                self._let_go(spare)
            if self._fork_server is not None:
                self._fork_server.close()
                self._fork_server = None

    def _fork(self) -> ChildProcess:
        # A fork server that was killed, or that no longer answers, is replaced, once.
        for _ in range(2):
            if self._closed:
                raise WorkerStartError("the service is stopping")
            if self._fork_server is None:
                self._fork_server = self._start_fork_server()
            fork_server = self._fork_server
            ours, theirs = socket.socketpair()
            with theirs:
                pid = fork_server.fork(theirs.fileno())
            if pid is not None:
                reap = partial(self._reap, fork_server)
                connection = Connection(ours.detach())
                return ChildProcess(pid, fork_server.process.pid, connection, reap)
            ours.close()
            fork_server.close()
            self._fork_server = None
        raise WorkerStartError("the process that forks the children ended")

    def _start_fork_server(self) -> ForkServer:
        """Return a warm fork server.

        Raises
        ------
        WorkerStartError
            It could not be started, ended, or did not get warm in time.
        """
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
        limit_s = self._settings.warm_up_limit_s
        self._warming = ForkServer(process, ours, self._settings.start_limit_s)
        ours.settimeout(self._settings.start_limit_s)
        ours.send(opening_packet(self._settings))
        try:
            if self._warming.await_warm(limit_s):
                return self._warming
            ended = self._warming.process.poll() is not None or self._closed
            self._warming.close()
        finally:
            self._warming = None
        raise WorkerStartError(
            "the process that forks the children ended"
            if ended
            else f"the process that forks the children was not warm in {limit_s:g} s"
        )

    def _reap(self, fork_server: ForkServer, pid: int) -> int:
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


def _is_child(pid: int, parent: int) -> bool:
    """Return whether the process is there, also as a zombie, and of that parent."""
    if pid <= 1:
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            # The name, in brackets, may contain anything.
            return int(stat.read().rpartition(")")[2].split()[1]) == parent
    except OSError:
        return False


def _made_ready(child: ChildProcess, give_up_at: float) -> ChildProcess:
    try:
        child.await_ready(max(0.0, give_up_at - time.monotonic()))
        if child.gone():
            raise WorkerStartError("it ended while it was idle")
    except WorkerStartError:
        child.close()
        raise
    return child
