"""Upstream's own programs run with every profile: what they judge is the real thing."""

import json
from pathlib import Path

import pytest

from benchmarks.engine import ScopeName
from benchmarks.upstream.benchmark import SMOKE, run_benchmark
from benchmarks.upstream.end_to_end import run_specs
from benchmarks.upstream.gangs import GANG_PROFILES, SMALLEST, run_gangs
from benchmarks.upstream.profiles import PROFILES, choose_profiles

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(1500)]
"""They are built first, which takes minutes where nothing is cached."""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder as `make` names it: relative, where programs run elsewhere."""
    monkeypatch.chdir(tmp_path)
    return Path("results")


def test_upstreams_benchmark_runs_every_profile(results: Path) -> None:
    """A profile that upstream's harness cannot start would be judged by nobody."""
    run_benchmark(SMOKE, PROFILES, results, print)

    found = json.loads((results / "upstream.json").read_text(encoding="utf-8"))
    paces = {one["profile"]: one for one in found["paces"]}
    assert paces.keys() == {one.name for one in PROFILES}
    for pace in paces.values():
        assert pace["passed"], pace["end"]


def test_upstreams_cases_of_pod_groups_run_with_their_gate(results: Path) -> None:
    """Without the gate they would be left out, and the table would be about nothing."""
    run_gangs(ScopeName.SMOKE, None, results, print)

    found = json.loads((results / "upstream-gangs.json").read_text(encoding="utf-8"))
    assert len(found["paces"]) == len(GANG_PROFILES) * len(SMALLEST)
    for pace in found["paces"]:
        assert pace["passed"], pace["end"]


def test_upstreams_end_to_end_tests_run_on_fake_nodes(results: Path) -> None:
    """They know nothing of Stowage, and are given no more than a kubeconfig."""
    profiles = choose_profiles(["score-cache"])

    run_specs(profiles, "NodeSelector is respected", results, print)

    found = json.loads((results / "upstream-e2e.json").read_text(encoding="utf-8"))
    ended = {(one["spec"], one["profile"]): one["result"] for one in found["specs"]}
    assert len(ended) == 4
    assert set(ended.values()) == {"passed"}
    assert all(one["met"] for one in found["figures"])
