"""The session's cluster with a release that makes plans only when it is asked to."""

from collections.abc import Callable, Iterator

import figure_1_cluster
import pytest
from release_environment import ReleaseEnvironment

from stowage_testbed.cluster import Cluster
from stowage_testbed.helm import Release
from stowage_testbed.simulate.instance import NO_PROTECTION


@pytest.fixture(scope="package")
def environment(stowage_cluster: Cluster, stowage_release: Callable[..., Release]) -> Iterator[ReleaseEnvironment]:
    """Return the cluster without nodes; whatever a test brings is swept."""
    settings = {"trigger": "Manual", "coolDownSeconds": 0, **NO_PROTECTION}
    stowage_release("optimizer-deterministic", optimizer_enabled=True, values={"priorityOptimizer": settings})
    with stowage_cluster.api_client() as client:
        yield ReleaseEnvironment(stowage_cluster, client)


@pytest.fixture
def figure_1(environment: ReleaseEnvironment, stowage_nodes: Callable[..., list[str]]) -> ReleaseEnvironment:
    """Return it with the paper's figure 1, whose third pod does not fit."""
    stowage_nodes("{count: 2, cpu: 4, memory: 4G}")
    figure_1_cluster.fill(environment)
    return environment
