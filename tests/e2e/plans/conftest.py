"""One cluster with a release that makes plans only when it is asked to."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import figure_1_cluster
import pytest
from amounts import size
from release_environment import ReleaseEnvironment

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import install_release, uninstall_release
from stowage_testbed.simulate import NO_PROTECTION

GB = 10**9


@pytest.fixture(scope="package")
def environment() -> Iterator[ReleaseEnvironment]:
    """Return the paper's figure 1 without its pods: two nodes of 4 GB."""
    with running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running:
        with running.api_client() as client:
            create_nodes(client, [NodePool("node", 2, size(4000, 4 * GB))])
            release = install_release(
                running,
                profile="optimizer-deterministic",
                optimizer_enabled=True,
                values={
                    "priorityOptimizer": {
                        "trigger": "Manual",
                        "coolDownSeconds": 0,
                        **NO_PROTECTION,
                    }
                },
            )
            yield ReleaseEnvironment(running, client)
        uninstall_release(release)


@pytest.fixture
def figure_1(environment: ReleaseEnvironment) -> Iterator[ReleaseEnvironment]:
    """Return it with figure 1's pods, the third of which does not fit."""
    figure_1_cluster.fill(environment)
    yield environment
    figure_1_cluster.empty(environment)
