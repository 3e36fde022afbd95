"""Memory and CPU time that processes take, as the kernel accounts for them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PROC = Path("/proc")
RESET_PEAK = "5"
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
KIB = 1024


@dataclass(frozen=True, slots=True)
class Footprint:
    """What processes took together; ``None`` where it could not be read.

    Peaks of resident memory are added up, although they need not have been at one time; the time is that of ended
    children too.
    """

    peak_memory_bytes: int | None = None
    cpu_s: float | None = None


UNKNOWN = Footprint()


class FootprintMeter:
    """Measures processes and their children from now on; one that ends before `read` makes the footprint unknown."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        for process in _find_family(self._pids):
            # Another system than Linux: what cannot be forgotten cannot be read either.
            with suppress(OSError):
                (PROC / str(process.pid) / "clear_refs").write_text(RESET_PEAK, encoding="ascii")
        self._cpu_before_s = _read_cpu_s(self._pids)

    def read(self) -> Footprint:
        """Return what was taken since the meter was made."""
        cpu_s, peaks = _read_cpu_s(self._pids), dict[int, int]()
        for process in _find_family(self._pids):
            with suppress(OSError):
                if found := _PEAK.search((PROC / str(process.pid) / "status").read_text(encoding="ascii")):
                    peaks[process.pid] = int(found[1]) * KIB
        peak = sum(peaks.values()) if self._pids and peaks.keys() >= set(self._pids) else None
        if cpu_s is None or self._cpu_before_s is None:
            return Footprint(peak, None)
        return Footprint(peak, round(cpu_s - self._cpu_before_s, 2))


def _find_family(pids: Iterable[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        try:
            process = psutil.Process(pid)
            yield process
            yield from process.children(recursive=True)
        except psutil.Error:
            continue


def _read_cpu_s(pids: tuple[int, ...]) -> float | None:
    if not pids or not all(psutil.pid_exists(pid) for pid in pids):
        return None
    total_s = 0.0
    for process in _find_family(pids):
        try:
            times = process.cpu_times()
        except psutil.Error:
            # A child that has just ended; its parent has its time from now on.
            continue
        total_s += times.user + times.system
        total_s += getattr(times, "children_user", 0.0)
        total_s += getattr(times, "children_system", 0.0)
    return total_s
