"""A job in a process of its own: what runs on a cluster wants a main thread.

A worker carries its tasks out in threads. Only a main thread can be interrupted, by the
end of a cluster's process or of the whole run, and then leaves nothing behind. So the
worker starts a child, which ends when nobody waits for its result any more, or when the
worker has died: its standard input ends then.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, Protocol, TypeVar

from stowage_testbed.child import end_child, log_tail
from stowage_testbed.errors import StowageError
from stowage_testbed.whole_file import write_whole
from stowage_testbed.workers.task import Tools

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)

JOB, RESULT, LOG, WORK = "job.pickle", "result.pickle", "job.log", "work"

LOOK_EVERY_S = 0.2
"""How often a worker looks whether its child has ended or is wanted no more."""

CLEAN_UP_S = 30.0
"""How long a child that is not wanted may take to bring its cluster down."""


class Job(Protocol[ResultT_co]):
    """What a child is to do; it is pickled on the way, and so is its result."""

    def run(self, folder: Path) -> ResultT_co:
        """Carry it out in the main thread, with a folder that is gone afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class JobTask(Generic[ResultT]):
    """A job as a task for workers."""

    id: str
    job: Job[ResultT]

    def execute(self, tools: Tools) -> tuple[ResultT]:
        """Carry the job out in a child.

        Raises
        ------
        StowageError
            The job failed or its process ended without a result; names the machine.
        """
        try:
            with TemporaryDirectory(prefix="sto-job-", dir=tools.folder) as name:
                result = self._carry_out(Path(name), tools)
        except OSError as error:
            raise StowageError(f"on {socket.gethostname()}: {error}") from error
        if isinstance(result, str):
            raise StowageError(f"on {socket.gethostname()}: {result}")
        return (result[0],)

    def _carry_out(self, folder: Path, tools: Tools) -> tuple[ResultT] | str:
        """Return the job's result, or why it failed."""
        (folder / WORK).mkdir()
        (folder / JOB).write_bytes(pickle.dumps(self.job))
        code = _run_child(folder, tools)
        result: tuple[ResultT] | str | None = _read(folder / RESULT)
        if result is not None:
            return result
        said = "\n  ".join(log_tail(folder / LOG))
        raise StowageError(
            f"its process on {socket.gethostname()} ended with {code}; the end of what "
            f"it wrote:\n  {said or '(nothing)'}"
        )


def _run_child(folder: Path, tools: Tools) -> int:
    """Return the exit code of the child that carries out what lies in a folder."""
    with (folder / LOG).open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", __package__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            # Ctrl-C on a terminal is for whoever waits for the results.
            start_new_session=True,
        )
    tools.children.add(child.pid)
    try:
        while tools.wanted():
            try:
                return child.wait(LOOK_EVERY_S)
            except subprocess.TimeoutExpired:
                continue
        raise StowageError("nobody waits for it")
    finally:
        end_child(child, CLEAN_UP_S)
        assert child.stdin is not None  # noqa: S101 - it was asked for
        child.stdin.close()
        tools.children.discard(child.pid)


def _read(file: Path) -> tuple[ResultT] | str | None:
    """Return a job's result, or why it failed; nothing if it did not get so far."""
    if not file.is_file():
        return None
    found: tuple[ResultT] | str = pickle.loads(file.read_bytes())  # noqa: S301 - ours
    return found


def carry_out(folder: Path) -> None:
    """Carry out the job that lies in a folder, as the child that a worker started."""
    threading.Thread(target=_end_with_worker, name="worker", daemon=True).start()
    job: Job[object] = pickle.loads((folder / JOB).read_bytes())  # noqa: S301 - ours
    result: tuple[object] | str
    try:
        result = (job.run(folder / WORK),)
    except StowageError as error:
        result = str(error)
    write_whole(folder / RESULT, pickle.dumps(result))


def _end_with_worker() -> None:
    """Ask this process to end as soon as its standard input does."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
