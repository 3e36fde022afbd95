"""Commands of Go, several at a time; what runs is ended when one of them fails."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.golang import go_environment
from stowage_testbed.toolchain.manifest import Tool

_TAIL_LINES = 15
_DISK_FULL = "no space left on device"


class GoCommands:
    """Runs Go for many threads, and ends what runs when one of them fails."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(self, tool: Tool, command: Sequence[str], scratch: Path, follow: Callable[[str], None]) -> None:
        """Run a command in a tool's module, and pass on each line that it says.

        Its temporary files go to ``scratch``, which is cleared away with what else a
        killed build leaves.

        Raises
        ------
        StowageError
            Go refused; with its last lines.
        OSError
            ENOSPC: the disk filled up.
        """
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        with self._start(tool, command, scratch) as process:
            try:
                for raw in process.stdout or ():
                    line = raw.rstrip()
                    tail.append(line)
                    follow(line)
            except BaseException:
                # An interrupt must not wait for the build that it interrupts.
                process.kill()
                raise
        with self._lock:
            self._running.discard(process)
        if process.returncode:
            if any(_DISK_FULL in line for line in tail):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise go_failed(tool, command, tail)

    def end(self) -> None:
        """Kill what runs, and let nothing start any more."""
        with self._lock:
            self._ended = True
            for process in self._running:
                process.kill()

    def _start(self, tool: Tool, command: Sequence[str], scratch: Path) -> subprocess.Popen[str]:
        with self._lock:
            if self._ended:
                raise go_failed(tool, command, ["another tool has failed before"])
            process = subprocess.Popen(
                command,
                cwd=tool.folder,
                env={**go_environment(), "GOTMPDIR": str(scratch)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self._running.add(process)
        return process


def go_failed(tool: Tool, command: Sequence[str], tail: Sequence[str]) -> StowageError:
    """Return the error that a command of Go ended with its last lines."""
    text = "\n  ".join(tail)
    return StowageError(
        f"building {tool.name} failed: {' '.join(command)}\n  {text}\n"
        "a failed download is often passing: run the same command again; "
        "behind a proxy set GOPROXY"
    )
