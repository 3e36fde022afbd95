"""The benchmark of comparisons, at a small size, with schedulers that really run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.comparison.benchmark import run_benchmark
from benchmarks.comparison.scope import ComparisonScope, HarnessScope
from stowage_testbed.reproduce.scorecache.comparisons import Planned

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SCENARIOS = Path(__file__).parents[3] / "scenarios"
BURST = Planned(
    "burst",
    "burst/deployment-200",
    rounds=1,
    variant="small",
    arms=("default", "stowage-score-cache"),
    warm_up=0,
)
TINY = ComparisonScope("tiny", (BURST,), HarnessScope(2, 20, 1, 40), (20, 60, 1))


def test_every_part_leaves_its_figures(tmp_path: Path) -> None:
    """A part without figures would be missed by nobody for a long time."""
    said: list[str] = []

    run_benchmark(TINY, SCENARIOS, tmp_path, said.append)
    first = [line for line in said if "pods placed" in line]
    document = json.loads((tmp_path / "bench-compare.json").read_text("utf-8"))
    figures = {one["name"]: one for one in document["figures"]}

    assert len(first) == 2
    for arm in BURST.arms:
        assert figures[f"burst, equal limits: {arm}: placed_pods"]["value"] == 40
        memory = figures[f"burst, equal limits: {arm}: scheduler_memory_peak_bytes"]
        assert memory["value"] > 2**20
    assert figures["burst: runs that failed"]["met"]
    assert figures["receipts of 40 pods that the watch missed"]["value"] == 0
    assert figures["bindings of 40 pods that the watch missed"]["met"]
    assert figures["measuring slows a burst of 20 pods by"]["runs"] == 1
    assert figures["equal, 20 nodes: pods that only stock places"]["value"] == 0
    assert (tmp_path / "compare" / "burst" / "report.html").is_file()
