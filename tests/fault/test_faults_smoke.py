"""One try of each family of faults; `make fault` tries all of them, many times."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.faults.attempt import Attempt
from benchmarks.faults.cluster import FaultCluster, open_fault_cluster
from benchmarks.faults.context import load_faults
from benchmarks.faults.session import REFUSING, on_fresh_nodes

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

SEED = 1
CHOSEN = (
    "nothing",
    "optimizer-killed@solving",
    "optimizer-stopped",
    "scheduler-killed@evicted-1",
    "node-deleted",
    "owner-changed@gone",
    "rivals",
    "optimizer-lies@over-capacity",
    "odd-objects",
    "forged",
    "writes-refused",
    "etcd-full",
    "api-server-slow",
    "leader-frozen",
    "gang@scheduler-killed-arrived",
)
"""Few release changes, since each takes seconds."""

EVERY_CHANGE = {
    "nothing",
    "optimizer-killed@solving",
    "scheduler-killed@evicted-1",
    "node-deleted",
    "optimizer-lies@over-capacity",
    "api-server-slow",
    "gang@scheduler-killed-arrived",
}
"""Those that every change must survive: one of each part that may fail."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FaultCluster]:
    with open_fault_cluster(f"test-{secrets.token_hex(3)}") as made:
        yield made


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in EVERY_CHANGE)) for name in CHOSEN]
)
def test_nothing_is_lost(name: str, cluster: FaultCluster, tmp_path: Path) -> None:
    """A plan costs nobody anything, whatever goes wrong in its middle."""
    (fault,) = load_faults([name])
    fresh = on_fresh_nodes(fault, CHOSEN.index(name))
    trial = Attempt(cluster, fresh, 1, SEED, tmp_path).run()

    assert trial.passed, trial.in_words()
    assert trial.second_plan in {0, None}
    assert trial.refusals or trial.fault not in REFUSING
