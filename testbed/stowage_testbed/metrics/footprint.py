"""What the scheduler itself took of the machine."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord

CPU_TICK_S = 0.01
"""Linux counts CPU time in hundredths of a second."""

PAGE_BYTES = 4096


def measure_footprint(record: RunRecord) -> Iterator[Metric]:
    """Yield the peak memory and the CPU time of the scheduler."""
    for name, value, unit, resolution in (
        ("scheduler_memory_peak_bytes", record.peak_memory_bytes, "bytes", PAGE_BYTES),
        ("scheduler_cpu_s", record.cpu_s, "s", CPU_TICK_S),
    ):
        missing = value is None
        note = "not measured" if missing else ""
        yield Metric(name, value, unit, "lower", int(not missing), resolution, note)
