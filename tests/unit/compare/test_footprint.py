"""Memory and CPU time of processes, measured on real ones that take known amounts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from testbed.compare.footprint import Footprint, FootprintMeter

MIB = 1 << 20
WORKER = """
import sys, time
for line in sys.stdin:
    what, amount = line.split()
    if what == "take":
        taken = bytearray(int(amount))
    elif what == "free":
        taken = None
    else:
        ends = time.process_time() + float(amount)
        while time.process_time() < ends:
            pass
    print("done", flush=True)
"""


class Worker:
    """A process that takes memory and time when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def do(self, what: str, amount: float = 0) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{what} {amount}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@pytest.fixture
def worker() -> Iterator[Worker]:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Worker(process)
        assert process.stdin
        process.stdin.close()


def test_memory_that_was_given_back_counts_still(worker: Worker) -> None:
    """A machine must have it, however short the moment."""
    worker.do("free")
    meter = FootprintMeter([worker.pid])
    before = meter.read().peak_memory_bytes

    worker.do("take", 64 * MIB)
    worker.do("free")

    grown = meter.read().peak_memory_bytes - before
    assert 63 * MIB < grown < 70 * MIB


def test_a_reset_forgets_the_peak_before_it(worker: Worker) -> None:
    """What a scheduler took at its start is not what a burst costs."""
    worker.do("take", 64 * MIB)
    worker.do("free")
    meter = FootprintMeter([worker.pid])

    assert meter.read().peak_memory_bytes < 40 * MIB


def test_time_counts_from_the_reset(worker: Worker) -> None:
    """The kernel counts in hundredths of a second."""
    worker.do("burn", 0.2)
    meter = FootprintMeter([worker.pid])

    worker.do("burn", 0.1)

    assert meter.read().cpu_s == pytest.approx(0.1, abs=0.03)


def test_a_process_that_has_ended_is_no_error() -> None:
    """A killed scheduler is reported by its arm, with its log."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert FootprintMeter([process.pid]).read() == Footprint(0, 0.0)
