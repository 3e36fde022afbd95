"""The benchmark from instance to table, on the real scheduler and service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.optimizer import benchmark
from benchmarks.optimizer.benchmark import NAME, run_benchmark
from benchmarks.optimizer.scope import OptimizerScope
from stowage_testbed.instances.case import Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.toolchain.environment import fingerprint

TINY = OptimizerScope(
    name="tiny",
    cells=(Cell(4, 4, 1, 95),),
    large_cells=(Cell(6, 4, 1, 105),),
    instances={Family.PAPER: 1, Family.MIX: 1, Family.LARGE: 1},
    quick_s=0.2,
    long_s=0.25,
    rival_s=0.3,
    search_s=0.3,
    searched=1,
    # A cold start compiles everything, which `make bench-optimizer SMOKE=1` measures.
    starts=0,
    calls=1,
)


def test_a_run_is_measured_once_and_leaves_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted or repeated, it goes on from what is there.

    Sources that are edited meanwhile would make it another optimiser's run.
    """
    mark = fingerprint()
    monkeypatch.setattr(benchmark, "fingerprint", lambda: mark)
    said: list[str] = []

    tables = run_benchmark(TINY, "paper", tmp_path, said.append)
    measured = len(said)
    run_benchmark(TINY, "paper", tmp_path, said.append)

    assert measured >= 5
    assert len(said) == measured
    written = json.loads((tmp_path / f"{NAME}.json").read_text())
    figures = {one["name"]: one for one in written["figures"]}
    assert figures["wrong certificates"]["value"] == 0
    assert figures["wrong certificates"]["runs"] == measured
    assert figures["paper grid, 0.2 s: worse than `paper` at 0.3 s"]["runs"] == 1
    assert figures["mix grid, 0.2 s: median answer"]["value"] > 0
    assert figures["service: cold start to ready"]["note"] == "not measured"
    assert figures["service: call beside the solve, 32 nodes"]["runs"] == 1
    assert figures["large: memory"]["value"] > 0
    assert {"machine", "packages", "scope", "strategy"} <= set(written["environment"])
    assert "paper: proved %" in tables
