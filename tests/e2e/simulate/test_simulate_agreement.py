"""The simulation is worth nothing unless a real cluster does the same.

And a scheduler whose optimiser is not there must be the scheduler that it was before.
"""

from collections.abc import Iterator

import pytest
from agreement_instances import FOLLOWER, Case, mixed_case, paper_case
from arrivals import RealCluster, as_instance
from scheduler_process import running_scheduler

from stowage_testbed.cluster import Cluster
from stowage_testbed.simulate.process import Simulator, find_profile

CASES = [make(seed) for seed in range(25) for make in (paper_case, mixed_case)]
PROFILES = ("deterministic", "optimizer-deterministic")
"""Both without an optimiser; for the second neither its socket nor its CRDs exist."""
SMOKE = 10
"""How many of them every change must pass."""


@pytest.fixture(scope="module", params=PROFILES)
def real_cluster(
    cluster: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealCluster]:
    folder = tmp_path_factory.mktemp("scheduler")
    with cluster.api_client() as api, running_scheduler(cluster, folder, request.param) as scheduler:
        yield RealCluster(api, scheduler)


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(find_profile("deterministic")) as running:
        yield running


@pytest.mark.e2e
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.smoke if number < SMOKE else pytest.mark.nightly])
        for number, case in enumerate(CASES)
    ],
)
def test_the_real_cluster_agrees_pod_for_pod(case: Case, real_cluster: RealCluster, simulator: Simulator) -> None:
    """Same nodes, same pods, same order: every pod on the same node, or on none."""
    instance, placements = real_cluster.play(case)
    assert simulator.place(instance).nodes == placements


@pytest.mark.e2e
def test_the_cases_are_hard_enough_to_differ(simulator: Simulator) -> None:
    """Agreement means nothing where all pods fit and none has to be tried again."""
    answers = [simulator.place(as_instance(case)) for case in CASES]
    with_pending = [answer for answer in answers if answer.pending()]
    woken = [answer for answer in answers if answer.nodes.get(f"default/{FOLLOWER}")]
    assert len(with_pending) > 40
    assert len(woken) > 10
