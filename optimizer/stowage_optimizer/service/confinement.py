"""What a child may not do: outlive its parent, eat all memory, leave a core dump."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

_PR_SET_PDEATHSIG = 1


def confine(memory_limit_bytes: int) -> None:
    """Confine the calling process.

    Parameters
    ----------
    memory_limit_bytes
        Address space that may be added to what is mapped now.
    """
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent died before the kernel began to watch it.
        os._exit(1)
    # A terminal's Ctrl-C goes to the whole group; only the parent answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = mapped_bytes() + memory_limit_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def mapped_bytes() -> int:
    """Return the size of this process's address space in bytes."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[0])
    return pages * resource.getpagesize()
