"""Starting a process of a cluster that may outlive the one that starts it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.cluster.components import log_file, pid_file
from stowage_testbed.cluster.processes import marked_environment


def spawn_component(workdir: Path, component: str, command: Sequence[str]) -> None:
    """Start a component in a session of its own; its output goes to its log.

    Spawned, not opened as a child: it is found by its mark like every other process of
    the cluster in ``workdir``.
    """
    log = str(log_file(workdir, component))
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        tuple(command),
        marked_environment(workdir, os.environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, write, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    pid_file(workdir, component).write_text(str(pid), encoding="utf-8")
