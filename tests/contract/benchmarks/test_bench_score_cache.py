"""The benchmark of the score cache, at a small size, with the real scheduler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.score_cache.benchmark import CacheScope, run_benchmark
from benchmarks.score_cache.workload import Workload

TINY = CacheScope("tiny", ((30, 90),), (Workload.EQUAL, Workload.SPREAD), 1)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    run_benchmark(TINY, folder, lambda line: None)
    return folder


def figures(results: Path) -> dict[str, float]:
    document = json.loads((results / "bench-score-cache.json").read_text("utf-8"))
    return {one["name"]: one["value"] for one in document["figures"]}


def test_the_cache_places_what_the_stock_scheduler_places(results: Path) -> None:
    """The counts are exact at any size; only the speed needs a large one."""
    found = figures(results)

    for case in ("equal, 30 nodes", "hard-spread, 30 nodes"):
        assert found[f"{case}: pods that only stock places"] == 0
        assert found[f"{case}: Jain's index beside stock's"] >= 0
        assert found[f"{case}: stock: speed"] > 0


def test_it_says_how_many_pods_the_cache_placed(results: Path) -> None:
    """A ratio of one means nothing unless it is known that the cache was at work."""
    found = figures(results)
    share = "score-cache: placed by a ranking of earlier pods"

    assert found[f"equal, 30 nodes: {share}"] > 50
    assert found[f"hard-spread, 30 nodes: {share}"] == 0


def test_the_file_says_where_it_comes_from(results: Path) -> None:
    """A figure without its machine and its versions cannot be compared."""
    document = json.loads((results / "bench-score-cache.json").read_text("utf-8"))

    assert document["environment"]["cores"] == 1
    assert document["environment"]["tools"]["stowage-simulate"]
    assert len(document["outcomes"]) == 8
