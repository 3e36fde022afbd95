"""Kernel settings of the whole machine, put back after those who change them.

A kubelet sets the first three, and the systemd of a node the others: research on kind
without a registry found them changed on the host. Settings of the network are not
among them, since the engine has a network of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path("/proc/sys")
NAMES = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "fs/protected_fifos",
    "fs/protected_hardlinks",
    "fs/protected_regular",
    "fs/protected_symlinks",
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
)


@contextmanager
def kept_sysctls(file: Path, root: Path = ROOT) -> Iterator[None]:
    """Put the settings back after the block.

    They are in ``file`` meanwhile, which outlives a process that is killed: what that
    one had changed is put back first.
    """
    if file.exists():
        _write(json.loads(file.read_text("utf-8")), root)
    before = _read(root)
    file.write_text(json.dumps(before), encoding="utf-8")
    try:
        yield
    finally:
        _write(before, root)
        file.unlink()


def _read(root: Path) -> dict[str, str]:
    return {
        name: (root / name).read_text("ascii").strip()
        for name in NAMES
        if (root / name).exists()
    }


def _write(wanted: Mapping[str, str], root: Path) -> None:
    now = _read(root)
    for name, value in wanted.items():
        if now.get(name) != value:
            (root / name).write_text(f"{value}\n", encoding="ascii")
