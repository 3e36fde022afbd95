"""Seconds and memory of the invariants over a large run, in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.command import Say, write_figures
from benchmarks.invariants.generated_run import GeneratedRun, Size
from benchmarks.scope import Scope, ScopeName
from stowage_testbed.invariants import check
from stowage_testbed.text.figure import Figure, at_most, figure

NAME = "bench-invariants"
MOST_S = 60.0
MOST_BYTES = 2e9
_MEGA = 1e6
_KIBI = 1024


@dataclass(frozen=True, slots=True)
class InvariantScope(Scope):
    """The run that is checked."""

    size: Size


SMOKE = InvariantScope(ScopeName.SMOKE, Size(nodes=100, pods=1000, plans=2, moves=100))
DEFAULT = InvariantScope(
    ScopeName.DEFAULT, Size(nodes=5000, pods=50_000, plans=10, moves=500)
)
FULL = InvariantScope(
    ScopeName.FULL, Size(nodes=5000, pods=50_000, plans=20, moves=2000)
)
SCOPES = (SMOKE, DEFAULT, FULL)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one check of a run cost.

    Attributes
    ----------
    changes, entries
        What the watches and the audit log had.
    violations
        What was found: the generated run breaks no rule.
    peak_bytes
        The largest resident set of the process, from its start.
    """

    changes: int
    entries: int
    evictions: int
    violations: int
    check_s: float
    peak_bytes: int


def run_benchmark(scope: InvariantScope, rounds: int, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-invariants.json``, return the table.

    Parameters
    ----------
    scope
        How large the run is.
    rounds
        How often it is checked, each time in a new process.
    results
        Folder of all results.
    say
        Receives a line for each round.
    """
    size, costs = scope.size, list[Cost]()
    # A process that was forked would begin with the memory of this one.
    spawned = multiprocessing.get_context("spawn")
    for number in range(1, rounds + 1):
        with spawned.Pool(1) as pool:
            cost = pool.apply(measure, (size,))
        say(f"round {number}: {cost.changes} changes checked in {cost.check_s:.1f} s")
        costs.append(cost)
    figures = list(invariant_figures(size, costs))
    about = {"scope": scope.name, "cores": 1}
    every_round = [asdict(cost) for cost in costs]
    return write_figures(results / f"{NAME}.json", figures, about, rounds=every_round)


def measure(size: Size) -> Cost:
    """Generate a run and check it; the memory is that of this whole process."""
    with tempfile.TemporaryDirectory(prefix="sto-invariants-") as folder:
        history = GeneratedRun(size, Path(folder)).history()
    began = time.monotonic()
    violations = check(history)
    took_s = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBI
    return Cost(
        changes=len(history.changes),
        entries=len(history.audit),
        evictions=len(history.evictions),
        violations=len(violations),
        check_s=took_s,
        peak_bytes=peak,
    )


def invariant_figures(size: Size, costs: Sequence[Cost]) -> Iterator[Figure]:
    """Yield time, memory, and what was falsely found."""
    evictions = max(cost.evictions for cost in costs)
    of = f"{size.pods} pods, {size.nodes} nodes"
    note = f"{costs[0].changes} changes, {evictions} evictions"
    seconds = [cost.check_s for cost in costs]
    yield figure(
        f"invariants over {of}", "s", seconds, median, at_most(MOST_S, "s"), note=note
    )
    memory = [cost.peak_bytes / _MEGA for cost in costs]
    most = at_most(MOST_BYTES / _MEGA, "MB")
    yield figure(f"memory for {of}", "MB", memory, max, most, note="the whole process")
    found = [float(cost.violations) for cost in costs]
    yield figure("violations in a run without any", "", found, max, at_most(0))
