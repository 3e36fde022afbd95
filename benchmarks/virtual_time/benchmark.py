"""How long a day takes in virtual time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.command import Say, write_figures
from benchmarks.virtual_time.day import Day, make_day
from stowage_testbed.simulate.trace_answer import simulate_trace
from stowage_testbed.text.figure import Figure, at_most, figure

NAME = "bench-virtual-time"
PROFILES = ("default", "deterministic")
MIB = 2**20
LIMIT_S = 180.0


@dataclass(frozen=True, slots=True)
class Scope:
    """What is measured; the target is of the whole day."""

    name: str
    day: Day
    limit_s: float


SCOPES = {
    "smoke": Scope("smoke", Day(arrivals=1000, nodes=50), 30.0),
    "default": Scope("default", Day(arrivals=100_000, nodes=500), LIMIT_S),
}
SCOPES["full"] = SCOPES["default"]


def run_benchmark(scope: Scope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-virtual-time.json``, return the table.

    Raises
    ------
    StowageError
        The simulator failed.
    """
    day = make_day(scope.day)
    figures: list[Figure] = []
    kept = {}
    for profile in PROFILES:
        say(f"{scope.day.arrivals} arrivals on {scope.day.nodes} nodes, {profile}")
        began = perf_counter()
        answer = simulate_trace(day, scope.name, profile)
        took_s = perf_counter() - began
        figures.append(
            figure(
                f"a day of {scope.day.arrivals} arrivals on {scope.day.nodes} nodes, "
                f"profile {profile}",
                "s",
                [took_s],
                max,
                at_most(scope.limit_s, "s"),
                note=f"{answer.passed.events} events, {answer.passed.attempts} "
                "attempts; from the trace in memory to the metrics",
            )
        )
        peak_mib = answer.passed.peak_memory_bytes / MIB
        figures.append(
            figure(
                f"peak memory of the scheduler's process, profile {profile}",
                "MiB",
                [peak_mib],
                max,
            )
        )
        kept[profile] = [asdict(metric) for metric in answer.metrics]
    about = {"scope": scope.name, **asdict(scope.day)}
    return write_figures(results / f"{NAME}.json", figures, about, metrics=kept)
