"""What a scheduler costs the machine: peak memory and CPU time of its processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_PEAK = "VmHWM:"
_KIB = 1024
_RESET_PEAK = "5"
"""What makes the kernel forget a process's peak: see proc(5), clear_refs."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Cost of some processes between two moments.

    Attributes
    ----------
    peak_memory_bytes
        Sum of each process's largest resident set: an upper bound of what they held at
        one moment together. A process that has ended meanwhile is not in it.
    cpu_s
        User and system time, also of children that have ended and were waited for.
    """

    peak_memory_bytes: int
    cpu_s: float


class FootprintMeter:
    """Measures some processes, and all that they start, from its creation on.

    Parameters
    ----------
    pids
        The processes.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = tuple(pids)
        self._before_s = 0.0
        self.reset()

    def reset(self) -> None:
        """Begin anew: with the memory that is resident now, and no CPU time."""
        for process in self._processes():
            # A process that has just ended has no peak to forget.
            with suppress(OSError):
                Path(f"/proc/{process.pid}/clear_refs").write_text(_RESET_PEAK, "ascii")
        self._before_s = self._cpu_s()

    def read(self) -> Footprint:
        """Return what the processes have cost since the last reset."""
        peaks = (_peak_bytes(process.pid) for process in self._processes())
        return Footprint(sum(peaks), self._cpu_s() - self._before_s)

    def _cpu_s(self) -> float:
        total_s = 0.0
        for process in self._processes():
            with suppress(psutil.Error):
                times = process.cpu_times()
                total_s += times.user + times.system
                total_s += times.children_user + times.children_system
        return total_s

    def _processes(self) -> Iterator[psutil.Process]:
        for pid in self._pids:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                yield from (process, *process.children(recursive=True))


def _peak_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", errors="replace")
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith(_PEAK):
            return int(line.split()[1]) * _KIB
    return 0
