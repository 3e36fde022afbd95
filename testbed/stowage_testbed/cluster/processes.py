"""A cluster's processes, known by a mark in their environment.

A process id is a poor identity: it is reused, and a killed parent may not have written it down yet. So every process of
a cluster, and whatever it starts in turn, inherits the cluster's folder in one environment variable, and is found by
it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import psutil

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, WaitTimeoutError, wait_until

MARK = "STOWAGE_CLUSTER_FOLDER"

_POLL_S = 0.02


def marked_environment(workdir: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return ``base`` with the mark of the cluster in ``workdir``."""
    return {**base, MARK: str(workdir)}


def processes_of(workdir: Path) -> list[psutil.Process]:
    """Return the cluster's live processes with all their descendants, not this one."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if process.pid not in found and belongs_to(process, workdir):
            found[process.pid] = process
            # A release's container has an environment of its own, without the mark.
            found |= {child.pid: child for child in _descendants(process)}
    found.pop(os.getpid(), None)
    return list(found.values())


def kill_processes(name: str, workdir: Path) -> None:
    """Kill every process of the cluster, also those started meanwhile."""
    killed: dict[int, psutil.Process] = {}

    def kill_all() -> list[int]:
        # A process that forks while it is killed leaves a child for the next look.
        found = {process.pid: process for process in processes_of(workdir)}
        killed.update(found)
        for process in killed.values():
            kill_one(process)
        alive = [pid for pid, process in killed.items() if is_alive(process)]
        return alive or list(found)

    try:
        wait_until(
            f"the processes of cluster {name} to end", kill_all, lambda pids: not pids, timeout_s=HANG_S, poll_s=_POLL_S
        )
    except WaitTimeoutError as error:
        pids = ", ".join(map(str, error.last_state))
        raise StowageError(
            f"processes {pids} of cluster {name!r} did not end; "
            "they may hang in the kernel: see what they wait for with ps"
        ) from error


def kill_one(process: psutil.Process) -> None:
    """Kill a process unless it has ended; psutil checks that the id is still its."""
    try:
        process.kill()
        # Collects the end of a child of this process; others are not waited for.
        process.wait(0)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        return


def resume(process: psutil.Process) -> None:
    """Let a stopped process go on; harmless if it runs, or has ended meanwhile."""
    try:
        process.resume()
    except psutil.NoSuchProcess:
        return


def end_gently(process: psutil.Process, timeout_s: float) -> None:
    """Ask a process to end, and wait for that at most ``timeout_s``."""
    try:
        process.terminate()
        process.wait(timeout_s)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        return


def belongs_to(process: psutil.Process, workdir: Path) -> bool:
    """Return whether a process belongs to the cluster in ``workdir``, by its mark."""
    try:
        return bool(process.environ().get(MARK) == str(workdir))
    except (psutil.Error, OSError):
        # Another user's process, or one that has just ended.
        return False


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs; one that only waits to be reaped does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        children: list[psutil.Process] = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return children
