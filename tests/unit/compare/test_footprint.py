"""What processes took, read from the kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from subprocess import PIPE

import pytest

from stowage_testbed.recording.footprint import UNKNOWN, FootprintMeter

MB = 10**6

HUNGRY = """
import sys
def spend():
    block = bytearray(100_000_000)
    for at in range(0, len(block), 4096):
        block[at] = 1
    return sum(n * n for n in range(1_500_000))
for line in sys.stdin:
    if line.startswith("spend"):
        spend()
    print("done", flush=True)
"""


@pytest.fixture
def hungry() -> Iterator[subprocess.Popen[str]]:
    """Return a process that takes 100 MB and some CPU time, on request."""
    with subprocess.Popen(
        [sys.executable, "-c", HUNGRY], stdin=PIPE, stdout=PIPE, text=True
    ) as process:
        yield process
        process.kill()


def send(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def test_the_peak_is_kept_though_the_memory_was_given_back(
    hungry: subprocess.Popen[str],
) -> None:
    """Nobody looked while it was there."""
    send(hungry, "wait")
    meter = FootprintMeter([hungry.pid])
    send(hungry, "spend")

    found = meter.read()
    assert found.peak_memory_bytes is not None
    assert found.peak_memory_bytes > 100 * MB
    assert found.cpu_s is not None
    assert found.cpu_s > 0


def test_a_peak_before_the_window_is_none_of_its_own(
    hungry: subprocess.Popen[str],
) -> None:
    """The burst before, or a start with much to read, must not count for this one."""
    send(hungry, "spend")
    meter = FootprintMeter([hungry.pid])

    found = meter.read()
    assert found.peak_memory_bytes is not None
    assert found.peak_memory_bytes < 100 * MB
    assert found.cpu_s == pytest.approx(0, abs=0.011)


def test_a_process_that_has_ended_leaves_no_footprint() -> None:
    """What it took is not known, and is not nothing."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    assert FootprintMeter([process.pid]).read() == UNKNOWN
    assert FootprintMeter([]).read() == UNKNOWN
