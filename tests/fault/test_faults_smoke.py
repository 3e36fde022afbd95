"""One try of each family of faults; `make fault` tries all of them, many times."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.faults.figures import REFUSING
from stowage_testbed.base import layout
from stowage_testbed.faults.attempt import Attempt
from stowage_testbed.faults.cluster import FaultCluster, open_fault_cluster
from stowage_testbed.faults.session import on_fresh_nodes
from stowage_testbed.scenario.load import load_folder
from stowage_testbed.scenario.model import Scenario

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

SEED = 1
CHOSEN = (
    "faults/nothing",
    "faults/optimizer-killed@solving",
    "faults/optimizer-stopped",
    "faults/scheduler-killed@evicted-1",
    "faults/node-deleted",
    "faults/owner-changed@gone",
    "faults/rivals",
    "faults/optimizer-lies@over-capacity",
    "faults/odd-objects",
    "faults/forged",
    "faults/writes-refused",
    "faults/etcd-full",
    "faults/api-server-slow",
    "faults/leader-frozen",
)
"""Few release changes, since each takes seconds."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FaultCluster]:
    with open_fault_cluster(f"test-{secrets.token_hex(3)}") as made:
        yield made


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Scenario]:
    found = load_folder(layout.shipped("scenarios") / "faults")
    return {one.scenario_id: one for one in found}


@pytest.mark.parametrize("name", CHOSEN)
def test_nothing_is_lost(
    name: str, cluster: FaultCluster, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    """A plan costs nobody anything, whatever goes wrong in its middle."""
    fresh = on_fresh_nodes(scenarios[name], CHOSEN.index(name))
    trial = Attempt(cluster, fresh, 1, SEED, tmp_path).run()

    assert trial.passed, trial.in_words()
    assert trial.second_plan in {0, None}
    assert trial.refusals or trial.fault not in REFUSING
