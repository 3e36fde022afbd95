"""One process of an arm: started, waited for, looked at and ended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from stowage_testbed.child import end_child, log_tail
from stowage_testbed.cluster.processes import is_alive, kill_one, marked_environment
from stowage_testbed.compare.arms.environment import clean_environment
from stowage_testbed.compare.arms.readiness import READY
from stowage_testbed.compare.errors import ArmEndedError, ArmStartError
from stowage_testbed.wait import WaitTimeoutError, wait_until

READY_TIMEOUT_S = 60.0
"""Twenty times what the slowest of them takes on two idle cores."""
END_PATIENCE_S = 10.0
LOG_LINES = 20


@dataclass(frozen=True, slots=True)
class Program:
    """What is run, and how it is known to serve.

    Attributes
    ----------
    name
        Of its log.
    environment
        On top of the clean one that every program gets.
    ready
        Given the process, returns `READY`, or what is still missing.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[psutil.Process], str]


class ArmProcess:
    """A program of an arm while it runs.

    Parameters
    ----------
    arm
        Its name, for errors.
    program
        What is run.
    folder
        Its current folder and that of its log.
    """

    def __init__(self, arm: str, program: Program, folder: Path) -> None:
        self.log = folder / f"{program.name}.log"
        self._arm = arm
        self._program = program
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._running().pid

    def start(self, workdir: Path, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start, and return when it is ready.

        Parameters
        ----------
        workdir
            Of the cluster; its removal finds the process, should this one die.
        timeout_s
            How long it may take.

        Raises
        ------
        ArmStartError
            It could not be started, it ended, or it was not ready in time.
        """
        environment = {
            **clean_environment(self._folder),
            **self._program.environment,
        }
        try:
            with self.log.open("ab") as log:
                self._child = subprocess.Popen(
                    list(self._program.command),
                    cwd=self._folder,
                    env=marked_environment(workdir, environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    # An interrupt from the keyboard is ours to handle, not its.
                    start_new_session=True,
                )
        except OSError as error:
            command = self._program.command[0]
            raise self._failure(f"{command} cannot be run: {error.strerror}") from error
        self._wait_ready(timeout_s)

    def check(self) -> None:
        """Raise `ArmEndedError` if it does not run any more."""
        code = self._running().poll()
        if code is not None:
            raise ArmEndedError(self._arm, code, self._log_end())

    def end(self) -> None:
        """End it and all that it has started; harmless if it never was."""
        if self._child is None:
            return
        try:
            children = psutil.Process(self._child.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        end_child(self._child, END_PATIENCE_S)
        for child in children:
            kill_one(child)
        # A port or a folder of theirs may be wanted again at once.
        wait_until(
            f"what {self._program.name} started to end",
            lambda: [child.pid for child in children if is_alive(child)],
            lambda alive: not alive,
            timeout_s=END_PATIENCE_S,
        )

    def _wait_ready(self, timeout_s: float) -> None:
        child = self._running()

        def state() -> str:
            code = child.poll()
            if code is not None:
                raise self._failure(f"{self._program.name} ended with {code}")
            try:
                return self._program.ready(psutil.Process(child.pid))
            except psutil.Error as error:
                # It ends just now; the next look sees that.
                return str(error)

        try:
            wait_until(
                f"{self._program.name} to be ready",
                state,
                lambda answer: answer == READY,
                timeout_s=timeout_s,
            )
        except WaitTimeoutError as error:
            raise self._failure(str(error)) from error

    def _failure(self, why: str) -> ArmStartError:
        return ArmStartError(self._arm, why, self._log_end())

    def _log_end(self) -> str:
        return "\n".join(log_tail(self.log, LOG_LINES)) or "(it wrote nothing)"

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise RuntimeError("a program is looked at after its start only")
        return self._child
