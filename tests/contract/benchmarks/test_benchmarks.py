"""Benchmarks from instance to table, at a small size, on the real programs."""

import json
from pathlib import Path

import pytest

from benchmarks.engine import build_of
from benchmarks.gangs import benchmark as gangs
from benchmarks.gangs.benchmark import GangScope
from benchmarks.optimizer import benchmark as optimizer
from benchmarks.optimizer.scope import FleetScope
from benchmarks.score_cache import benchmark as score_cache
from benchmarks.score_cache.benchmark import CacheScope, Workload

OPTIMIZER = FleetScope(
    name="tiny",
    lists=(),
    small=60,
    small_seeds=0,
    sizes=(),
    seeds=1,
    made=(20,),
    rivals=(),
    small_s=0.2,
    short_s=0.2,
    long_s=0.3,
    made_s=0.3,
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
    mark = build_of()
    monkeypatch.setattr(optimizer, "build_of", lambda: mark)
    said: list[str] = []

    optimizer.run_benchmark(OPTIMIZER, None, tmp_path, said.append)
    measured = len(said)
    optimizer.run_benchmark(OPTIMIZER, None, tmp_path, said.append)

    assert len(said) == measured == 2
    written = json.loads((tmp_path / f"{optimizer.NAME}.json").read_text())
    figures = {one["name"]: one for one in written["figures"]}
    wrong = figures["limits that some plan contradicts"]
    assert (wrong["value"], wrong["runs"]) == (0, measured)
    assert figures["20 nodes: first checked plan"]["runs"] <= 1
    assert figures["service: cold start to ready"]["note"] == "not measured"
    assert figures["service: call beside the solve, 32 nodes"]["runs"] == 1
    assert {"machine", "packages", "trace"} <= set(written["environment"])


def test_gangs_are_measured_once_and_leave_every_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stock scheduler and the optimiser get the same clusters, and each answer is checked."""
    mark = build_of("stowage-simulate")
    monkeypatch.setattr(gangs, "build_of", lambda _: mark)
    said: list[str] = []

    gangs.run_benchmark(GangScope("few", instances=1, tiny=3), tmp_path, said.append)
    gangs.run_benchmark(GangScope("few", instances=1, tiny=3), tmp_path, said.append)

    assert [one.split(",")[0] for one in said if "stock" in one] == ["kueue-5243", "volcano-3948", "seed-1"]
    written = json.loads((tmp_path / f"{gangs.NAME}.json").read_text())
    figures = {one["name"]: one for one in written["figures"]}
    assert figures["clusters with fewer pods in whole gangs than with stock"]["runs"] == 3
    assert figures["plans that break a rule"]["value"] == 0
    assert figures["tiny: plans as good as the best of all"]["runs"] == 3
    assert figures["tiny: claims that some plan refutes"]["value"] == 0
    # A scheduler without the gate leaves all members of groups pending.
    assert sum(written["clusters"][-1]["stock"]["gangs"]) > 0
    assert len(written["clusters"]) == 3


def test_the_cache_places_what_the_stock_scheduler_places(tmp_path: Path) -> None:
    """The counts are exact at any size; only the speed needs a large one."""
    score_cache.run_benchmark(CACHE, tmp_path, lambda line: None)
    written = json.loads((tmp_path / "bench-score-cache.json").read_text("utf-8"))
    found = {one["name"]: one["value"] for one in written["figures"]}

    for case in ("equal, 30 nodes", "hard-spread, 30 nodes"):
        assert found[f"{case}: pods that only stock places"] == 0
        assert found[f"{case}: Jain's index beside stock's"] >= 0
        assert found[f"{case}: stock: speed"] > 0
    # A ratio of one means nothing unless it is known that the cache was at work.
    share = "score-cache: placed by a ranking of earlier pods"
    assert found[f"equal, 30 nodes: {share}"] > 50
    assert found[f"hard-spread, 30 nodes: {share}"] == 0
    assert written["environment"]["cores"] == 1
    assert written["environment"]["tools"]["stowage-simulate"]
    assert len(written["outcomes"]) == 6
