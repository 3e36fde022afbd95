"""Putting a binary in place: atomically, and by one process at a time."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.location import binary_file, is_held, tool_folder
from stowage_testbed.toolchain.manifest import Tool

LOCK_TIMEOUT_S = 1800.0
"""A cold build of the slowest tool takes 4 minutes on two cores."""

KEPT_OWN_BUILDS = 3
"""Builds of each version of an own tool to keep: switching branches is quick then."""

_STAGING = ".staging-"
_LOOK_EVERY_S = 1.0

Fetch = Callable[[Tool, Path], None]
"""Puts a tool's binary at a path: a build or a download."""


def install_one(
    tool: Tool, fetch: Fetch, *, timeout_s: float = LOCK_TIMEOUT_S, ended: threading.Event | None = None
) -> Path:
    """Install one tool unless another process has just done so.

    Another process is waited for so long, and not any more once ``ended`` is set.
    ``fetch`` writes into a staging folder on the same disk, which then takes its final
    name in one step: a killed installation leaves nothing that looks finished.
    """
    folder = tool_folder(tool)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        with _acquired(lock, timeout_s, ended or threading.Event()):
            target = binary_file(tool)
            if not target.is_file():
                _stage(tool, fetch, target)
            if tool.own:
                _forget_old_builds(tool, keep=target.parent)
            return target
    except Timeout as error:
        raise StowageError(
            f"another process has been installing {tool.name} for {timeout_s:g} s and "
            f"holds {folder / '.lock'}; wait for it, or stop it and run again"
        ) from error


@contextmanager
def _acquired(lock: FileLock, timeout_s: float, ended: threading.Event) -> Iterator[None]:
    deadline_s = time.monotonic() + timeout_s
    while True:
        left_s = deadline_s - time.monotonic()
        with suppress(Timeout):
            lock.acquire(timeout=max(0.0, min(_LOOK_EVERY_S, left_s)))
            break
        if left_s <= 0 or ended.is_set():
            raise Timeout(lock.lock_file)
    try:
        yield
    finally:
        lock.release()


def _stage(tool: Tool, fetch: Fetch, target: Path) -> None:
    folder = tool_folder(tool)
    # The lock is held, so a staging folder is what a killed installation left.
    for leftover in folder.glob(f"{_STAGING}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
    try:
        fetch(tool, staging / tool.name)
        (staging / tool.name).chmod(0o755)
        staging.chmod(0o755)
        shutil.rmtree(target.parent, ignore_errors=True)
        staging.rename(target.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _forget_old_builds(tool: Tool, keep: Path) -> None:
    found = tool_folder(tool).glob(f"{tool.version}-*")
    builds = [path for path in found if path.is_dir() and path != keep]
    builds.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in builds[KEPT_OWN_BUILDS - 1 :]:
        if not any(is_held(file) for file in old.iterdir() if file.is_file()):
            shutil.rmtree(old, ignore_errors=True)
