"""All backends side by side: round by round, written as figures."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.backends.measuring import NODES, PROFILE, Cost, measure
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.environment import environment
from stowage_testbed.text.figure import Figure, figure, table
from stowage_testbed.whole_file import write_whole

NAME = "bench-backends"
ROUNDS = 3
_MEGA = 1e6
_TIMES = {
    "up_s": "control plane ready",
    "nodes_s": f"{NODES} fake nodes Ready",
    "release_s": f"release Ready, profile {PROFILE}",
    "down_s": "gone without a trace",
}
_MEMORY = {"control_bytes": "control plane", "whole_bytes": "with the release"}


def run_benchmark(rounds: int, results: Path, say: Callable[[str], None]) -> str:
    """Measure, write ``<results>/bench-backends.json``, return the table.

    Parameters
    ----------
    rounds
        How often each backend is brought up, one after the other. A round before them
        is not counted: it brings the images into the engine.
    say
        Receives a line for each cluster.

    Raises
    ------
    StowageError
        A backend does not work here.
    """
    costs: list[Cost] = []
    for number in range(rounds + 1):
        for backend in Backend:
            cost = measure(backend, f"bench-{secrets.token_hex(3)}")
            say(f"round {number}: {backend} up in {cost.up_s:.1f} s")
            if number:
                costs.append(cost)
    figures = list(backend_figures(costs))
    path = results / f"{NAME}.json"
    content = {
        "environment": environment(),
        "figures": [one.document() for one in figures],
        "clusters": [one.document() for one in costs],
    }
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"


def backend_figures(costs: Sequence[Cost]) -> Iterator[Figure]:
    """Yield each backend's times and memory, as medians."""
    for backend in Backend:
        own = [cost for cost in costs if cost.backend is backend]
        for key, what in _TIMES.items():
            samples = [float(getattr(cost, key)) for cost in own]
            yield figure(f"{backend}: {what}", "s", samples, median)
        for key, what in _MEMORY.items():
            samples = [getattr(cost, key) / _MEGA for cost in own]
            yield figure(f"{backend}: memory, {what}", "MB", samples, median)
