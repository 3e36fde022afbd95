"""One process of an arm: what it is built from, and how it is started, waited for, looked at and ended."""

from __future__ import annotations

import functools
import hashlib
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from stowage_testbed.base.child import Child
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, WaitTimeoutError, wait_until
from stowage_testbed.cluster.components import is_alive, kill_one, marked_environment

READY = "ready"
READY_TIMEOUT_S = HANG_S
END_PATIENCE_S = 10.0
LOG_LINES = 20
_TIMEOUT_S = 30.0
_SHOWN = 300


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a short digest of parts, in their order: runs of two builds are not rounds of one comparison."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With their lengths, no two lists of parts are alike.
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()[:12]


class ArmEndedError(StowageError):
    """A scheduler ended in the middle of a run."""


def http_readiness(url: str, process: psutil.Process) -> str:
    """Return `READY`, or why ``process`` does not serve yet at an address on the loopback interface.

    Its port must be its own, or that of what it has started: whatever else listens there would answer in its place. The
    certificate is not verified: it is one that the program made for itself a moment ago.
    """
    if beyond := listens_beyond(process):
        return f"it listens on {beyond}, which others can reach; bind it to 127.0.0.1"
    port = urlsplit(url).port
    if all(address.port != port for address in _listening(process)):
        return f"nothing of its own listens on port {port}"
    try:
        with _opener().open(url, timeout=_TIMEOUT_S):
            return READY
    except urllib.error.HTTPError as error:
        with error:
            return f"{url} answers {error.code} {error.reason}: {error.read(_SHOWN).decode(errors='replace').strip()}"
    except (OSError, http.client.HTTPException) as error:
        return f"{url} does not answer: {error}"


def listens_beyond(process: psutil.Process) -> str:
    """Return an address beyond the loopback on which a process listens; or nothing."""
    beyond = (one for one in _listening(process) if not ip_address(one.ip).is_loopback)
    return next((f"{one.ip}:{one.port}" for one in beyond), "")


def _listening(process: psutil.Process) -> Iterator[Any]:
    for one in (process, *process.children(recursive=True)):
        for connection in one.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                yield connection.laddr


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # A proxy of the user's has no business on the loopback interface.
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))


@dataclass(frozen=True, slots=True)
class Program:
    """What is run, and how it is known to serve: ``ready`` returns `READY`, or what is still missing.

    Its environment comes on top of PATH and LANG: a proxy, a KUBECONFIG or a GOMAXPROCS of the user's would reach some
    of the arms and not the others.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[psutil.Process], str]


class ArmProcess:
    """A program of an arm while it runs in a folder, where its log is too."""

    def __init__(self, arm: str, program: Program, folder: Path) -> None:
        self.log = folder / f"{program.name}.log"
        self._arm, self._program, self._folder = arm, program, folder
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._running().pid

    def start(self, workdir: Path, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start as part of the cluster in ``workdir``, and return when ready; a `StowageError` if it is not."""
        program = self._program
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = marked_environment(workdir, {**inherited, "HOME": str(self._folder), **program.environment})
        try:
            child = self._child = Child(program.command, self.log, environment, self._folder)
        except OSError as error:
            why = f"{program.command[0]} cannot be run: {error.strerror}"
            raise StowageError(f"arm {self._arm} did not start: {why}") from error

        def state() -> str:
            if (code := child.exit_code()) is not None:
                raise self._failure(f"{program.name} ended with {code}")
            try:
                return program.ready(psutil.Process(child.pid))
            except psutil.Error as error:
                # It ends just now; the next look sees that.
                return str(error)

        try:
            wait_until(f"{program.name} to be ready", state, lambda answer: answer == READY, timeout_s=timeout_s)
        except WaitTimeoutError as error:
            raise self._failure(str(error)) from error

    def check(self) -> None:
        """Raise `ArmEndedError` if it does not run any more."""
        if (code := self._running().exit_code()) is not None:
            log = self._running().log_end(LOG_LINES)
            raise ArmEndedError(f"arm {self._arm} ended by itself with {code}; its log ends with:\n{log}")

    def end(self) -> None:
        """End it and all that it has started; harmless if it never was."""
        if self._child is None:
            return
        try:
            children = psutil.Process(self._child.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        self._child.end(END_PATIENCE_S)
        for child in children:
            kill_one(child)
        # A port or a folder of theirs may be wanted again at once.
        wait_until(
            f"what {self._program.name} started to end",
            lambda: [child.pid for child in children if is_alive(child)],
            lambda alive: not alive,
            timeout_s=HANG_S,
        )

    def _failure(self, why: str) -> StowageError:
        end = self._running().log_end(LOG_LINES)
        return StowageError(f"arm {self._arm} did not start: {why}; its log ends with:\n{end}")

    def _running(self) -> Child:
        if self._child is None:
            raise RuntimeError("a program is looked at after its start only")
        return self._child
