"""Benchmarks from instance to table, at a small size, on the real programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.optimizer import benchmark as optimizer
from benchmarks.optimizer.scope import OptimizerScope
from benchmarks.score_cache import benchmark as score_cache
from benchmarks.score_cache.rounds import CacheScope
from benchmarks.score_cache.workload import Workload
from stowage_testbed.instances.case import Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.toolchain.environment import fingerprint

OPTIMIZER = OptimizerScope(
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
CACHE = CacheScope("tiny", ((30, 90),), (Workload.EQUAL, Workload.SPREAD), 1)


def test_the_optimiser_is_measured_once_and_leaves_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted or repeated, it goes on from what is there."""
    # Sources that are edited meanwhile would make it another optimiser's run.
    mark = fingerprint()
    monkeypatch.setattr(optimizer, "fingerprint", lambda: mark)
    said: list[str] = []

    tables = optimizer.run_benchmark(OPTIMIZER, "paper", tmp_path, said.append)
    measured = len(said)
    optimizer.run_benchmark(OPTIMIZER, "paper", tmp_path, said.append)

    assert measured >= 5
    assert len(said) == measured
    written = json.loads((tmp_path / f"{optimizer.NAME}.json").read_text())
    figures = {one["name"]: one for one in written["figures"]}
    wrong = figures["wrong certificates"]
    assert (wrong["value"], wrong["runs"]) == (0, measured)
    assert figures["paper grid, 0.2 s: worse than `paper` at 0.3 s"]["runs"] == 1
    assert figures["mix grid, 0.2 s: median answer"]["value"] > 0
    assert figures["service: cold start to ready"]["note"] == "not measured"
    assert figures["service: call beside the solve, 32 nodes"]["runs"] == 1
    assert figures["large: memory"]["value"] > 0
    assert {"machine", "packages", "scope", "strategy"} <= set(written["environment"])
    assert "paper: proved %" in tables


def test_the_cache_places_what_the_stock_scheduler_places(tmp_path: Path) -> None:
    """The counts are exact at any size; only the speed needs a large one."""
    score_cache.run_benchmark(CACHE, tmp_path, lambda line: None)
    written = json.loads((tmp_path / "bench-score-cache.json").read_text("utf-8"))
    found = {one["name"]: one["value"] for one in written["figures"]}

    for case in ("equal, 30 nodes", "hard-spread, 30 nodes"):
        assert found[f"{case}: pods that only stock places"] == 0
        assert found[f"{case}: overfull nodes and broken constraints"] == 0
        assert found[f"{case}: Jain's index beside stock's"] >= 0
        assert found[f"{case}: stock: speed"] > 0
    # A ratio of one means nothing unless it is known that the cache was at work.
    share = "score-cache: placed by a ranking of earlier pods"
    assert found[f"equal, 30 nodes: {share}"] > 50
    assert found[f"hard-spread, 30 nodes: {share}"] == 0
    assert written["environment"]["cores"] == 1
    assert written["environment"]["tools"]["stowage-simulate"]
    assert len(written["outcomes"]) == 8
