"""One cluster for the tests of all arms."""

import secrets
from collections.abc import Iterator

import pytest
from amounts import size
from arm_environment import ArmEnvironment

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster


@pytest.fixture(scope="package")
def environment() -> Iterator[ArmEnvironment]:
    """Return a cluster with two fake nodes, and the programs of every arm."""
    cluster = KwokBinaryCluster(f"test-{secrets.token_hex(3)}")
    with running_cluster(cluster) as running, running.api_client() as api:
        create_nodes(api, [NodePool("fake", 2, size(4000, 2**33))])
        yield ArmEnvironment(running, api)
