"""A cluster with the stock scheduler, on which Helm is used as its users do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from helm_environment import HelmEnvironment

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.compare.arms.kube_scheduler import default_arm

GB = 10**9


@pytest.fixture(scope="package")
def environment(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[HelmEnvironment]:
    """Return two nodes of 5 GB, and the stock scheduler at work."""
    folder = tmp_path_factory.mktemp("stock")
    cluster = KwokBinaryCluster(f"test-{secrets.token_hex(3)}")
    with (
        running_cluster(cluster) as running,
        running.api_client() as client,
        default_arm().running(running, folder, None),
    ):
        create_nodes(client, [NodePool("node", 2, 4000, 5 * GB)])
        yield HelmEnvironment(running, client)
