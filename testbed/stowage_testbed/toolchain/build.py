"""One tool, built from its Go module."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.toolchain.errors import BuildFailedError
from stowage_testbed.toolchain.golang import Go, go_environment
from stowage_testbed.toolchain.location import data_folder
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.module_data import copy_module_data
from stowage_testbed.toolchain.watcher import Watcher

_TAIL_LINES = 15
_DOWNLOADING = "go: downloading "
_DISK_FULL = "no space left on device"


class DiskFullError(Exception):
    """The disk filled up during a build; the installer knows the figures."""


def build_tool(tool: Tool, go: Go, target: Path, watcher: Watcher) -> None:
    """Build ``tool`` into the file ``target``, with its module's data beside it.

    Raises
    ------
    BuildFailedError
        Go refused; the message carries its last lines.
    ModuleDataMissingError
        The tool's module does not hold its data.
    DiskFullError
        The disk filled up.
    """
    go_list = [str(go.file), "list", "-deps", tool.package]
    watcher.total(_run(tool, go_list, target.parent, watcher))
    flags = ["-trimpath", "-v", "-ldflags", tool.ldflags, "-o", str(target)]
    go_build = [str(go.file), "build", *flags, tool.package]
    _run(tool, go_build, target.parent, watcher)
    copy_module_data(tool, go, data_folder(target))


def _run(tool: Tool, command: list[str], scratch: Path, watcher: Watcher) -> int:
    """Run a Go command, pass its progress on, and return its lines of output.

    Its temporary files go to ``scratch``, which is cleared away with what else a
    killed build leaves.
    """
    with subprocess.Popen(
        command,
        cwd=tool.folder,
        env={**go_environment(), "GOTMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            lines, tail = _follow(process, watcher)
        except BaseException:
            # An interrupt must not wait for the build that it interrupts.
            process.kill()
            raise
    if process.returncode:
        if any(_DISK_FULL in line for line in tail):
            raise DiskFullError
        raise BuildFailedError(tool.name, command, tail)
    return lines


def _follow(
    process: subprocess.Popen[str], watcher: Watcher
) -> tuple[int, Sequence[str]]:
    """Return the number of packages that were named, and the last lines."""
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    packages = 0
    for raw in process.stdout or ():
        line = raw.rstrip()
        tail.append(line)
        if line.startswith(_DOWNLOADING):
            watcher.note(f"fetching {line.removeprefix(_DOWNLOADING)}")
        elif " " not in line:
            packages += 1
            watcher.advance(1, line)
    return packages, tail
