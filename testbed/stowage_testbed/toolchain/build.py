"""The first source: one tool, built from its Go module, with that module's data."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stowage_testbed.base.clock import Clock, SystemClock
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.golang import Go, go_environment
from stowage_testbed.toolchain.location import data_folder
from stowage_testbed.toolchain.manifest import Tool

if TYPE_CHECKING:
    from stowage_testbed.toolchain.progress import ToolWatcher

_TAIL_LINES = 15
_DOWNLOADING = "go: downloading "
_DISK_FULL = "no space left on device"
_PASSING = re.compile(
    r"time[d-]* ?out|connection (reset|refused)|unexpected EOF|temporary failure|"
    r"no such host|: (429|50[0234]) ",
    re.IGNORECASE,
)
"""What Go says of a download that may succeed in a moment."""

FETCH_TRIES = 4
FETCH_PAUSE_S = 2.0
"""The first pause; it doubles with every try."""


def build_tool(
    tool: Tool, target: Path, go: Go, watcher: ToolWatcher, clock: Clock | None = None
) -> None:
    """Build ``tool`` into the file ``target``, with its module's data beside it.

    Of hundreds of downloads one may time out, so fetching is tried again.

    Raises
    ------
    StowageError
        Go refused, or the tool's module does not hold its data.
    OSError
        ENOSPC: the disk filled up.
    """
    module = [f"-modfile={tool.module_file}", f"-tags={tool.tags}"]
    go_list = [str(go.file), "list", *module, "-deps", tool.package]
    watcher.total(_fetch(tool, go_list, target.parent, watcher, clock or SystemClock()))
    flags = [*module, "-trimpath", "-v", "-ldflags", tool.ldflags, "-o", str(target)]
    go_build = [str(go.file), "build", *flags, tool.package]
    _run(tool, go_build, target.parent, watcher)
    _copy_module_data(tool, go, data_folder(target))


def _fetch(
    tool: Tool, command: list[str], scratch: Path, watcher: ToolWatcher, clock: Clock
) -> int:
    """Run the Go command that fetches all modules, until nothing passing hinders it."""
    pause_s = FETCH_PAUSE_S
    for _ in range(FETCH_TRIES - 1):
        try:
            return _run(tool, command, scratch, watcher)
        except StowageError as error:
            if not _PASSING.search(str(error)):
                raise
            watcher.note(f"a download failed, again in {pause_s:g} s")
        clock.pause(pause_s)
        pause_s *= 2
    return _run(tool, command, scratch, watcher)


def _run(tool: Tool, command: list[str], scratch: Path, watcher: ToolWatcher) -> int:
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
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise _failed(tool, command, tail)
    return lines


def _follow(
    process: subprocess.Popen[str], watcher: ToolWatcher
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


def _copy_module_data(tool: Tool, go: Go, target: Path) -> None:
    """Copy what the manifest names of the tool's module into the folder ``target``.

    They are taken from the very module that the tool is built from, so that both are of
    one version, and no copies have to be kept in step.
    """
    if tool.data is None:
        return
    source = _module_folder(tool, go, tool.data.module)
    for path in tool.data.paths:
        files = _files(source / path)
        if not files:
            raise StowageError(
                f"{tool.name}: the Go module {tool.data.module} holds no {path}; "
                "correct the tool's data in "
                "testbed/stowage_testbed/toolchain/manifest.toml"
            )
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Without its permissions: Go's cache is read-only, the copy must not be.
            shutil.copyfile(file, copy)


def _module_folder(tool: Tool, go: Go, module: str) -> Path:
    file = f"-modfile={tool.module_file}"
    command = [str(go.file), "list", file, "-m", "-f", "{{.Dir}}", module]
    done = subprocess.run(
        command,
        cwd=tool.folder,
        env=go_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise _failed(tool, command, done.stderr.splitlines())
    return Path(done.stdout.strip())


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())


def _failed(tool: Tool, command: Sequence[str], tail: Sequence[str]) -> StowageError:
    text = "\n  ".join(tail)
    return StowageError(
        f"building {tool.name} failed: {' '.join(command)}\n  {text}\n"
        "a failed download is often passing: run the same command again; "
        "behind a proxy set GOPROXY"
    )
