"""A command beside an engine of its own, in a network of its own.

Called in new namespaces of network and mounts by `python -m benchmarks docker`. So
bridges, packet filters and published ports are seen by the command and its containers
only, and are gone with them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from shutil import which
from types import FrameType

from filelock import FileLock, Timeout

from benchmarks.engine.dockerd import FOLDER, Dockerd
from benchmarks.engine.sysctls import kept_sysctls
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError

PATIENCE_S = 1800.0
"""How long one command waits for another's engine: as long as a suite takes."""

OPTIONAL = "--optional"
"""Before the command's own ``--``: it makes do without an engine."""

_FORWARDED = (signal.SIGTERM, signal.SIGHUP)
_EXIT_BASE = 128


def run_with_engine(command: Sequence[str], *, optional: bool = False) -> int:
    """Run a command beside an engine, and return its exit code.

    Raises
    ------
    StowageError
        No engine is available.
    """
    folder = layout.cache_folder() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    engine = Dockerd(folder)
    os.environ["DOCKER_HOST"] = engine.host
    subprocess.run([which("ip") or "ip", "link", "set", "lo", "up"], check=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=PATIENCE_S)
    except Timeout as error:
        raise StowageError(
            f"another command has used the engine in {folder} for more than "
            f"{PATIENCE_S:g} s; wait for it, or set STOWAGE_CACHE to another folder"
        ) from error
    with lock, kept_sysctls(folder / "sysctls.json"), ExitStack() as stack:
        try:
            stack.enter_context(engine.running())
        except StowageError as error:
            if not optional:
                raise
            print(f"stowage: {error}\nwhat needs one is left out", file=sys.stderr)  # noqa: T201
        return _run(command)


def _run(command: Sequence[str]) -> int:
    with subprocess.Popen(command) as child:

        def forward(number: int, _frame: FrameType | None) -> None:
            child.send_signal(number)

        for number in _FORWARDED:
            signal.signal(number, forward)
        # The terminal sends it to the child as well, which ends in order.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        code = child.wait()
    return code if code >= 0 else _EXIT_BASE - code


def main(arguments: Sequence[str]) -> int:
    """Run the command after ``--``; a known error is one clear message."""
    end = list(arguments).index("--")
    try:
        return run_with_engine(
            arguments[end + 1 :], optional=OPTIONAL in arguments[:end]
        )
    except StowageError as error:
        print(f"stowage: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
