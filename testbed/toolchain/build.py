"""One tool, built from its Go module."""

from __future__ import annotations

import subprocess
from collections import deque
from pathlib import Path

from testbed.toolchain.errors import BuildFailedError
from testbed.toolchain.golang import Go, go_environment
from testbed.toolchain.manifest import Tool
from testbed.toolchain.watcher import Watcher

_TAIL_LINES = 15
_DISK_FULL = "no space left on device"


class DiskFullError(Exception):
    """The disk filled up during a build; the installer knows the figures."""


def build_tool(tool: Tool, go: Go, target: Path, watcher: Watcher) -> None:
    """Build ``tool`` into the file ``target``.

    Raises
    ------
    BuildFailedError
        Go refused; the message carries its last lines.
    DiskFullError
        The disk filled up.
    """
    packages = _run(tool, [str(go.file), "list", "-deps", tool.package], watcher)
    watcher.total(packages)
    flags = ["-trimpath", "-v", "-ldflags", tool.ldflags, "-o", str(target)]
    _run(tool, [str(go.file), "build", *flags, tool.package], watcher)


def _run(tool: Tool, command: list[str], watcher: Watcher) -> int:
    """Run a Go command, pass its progress on, and return its lines of output."""
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    lines = 0
    with subprocess.Popen(
        command,
        cwd=tool.folder,
        env=go_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe by construction
        for raw in process.stdout:
            line = raw.rstrip()
            tail.append(line)
            if line.startswith("go: downloading "):
                watcher.note(f"fetching {line.removeprefix('go: downloading ')}")
                continue
            lines += 1
            if command[1] == "build" and " " not in line:
                watcher.advance(1, line)
    if process.returncode:
        if any(_DISK_FULL in line for line in tail):
            raise DiskFullError
        raise BuildFailedError(tool.name, command, tail)
    return lines
