"""One cluster for the tests of host pods and of the release on them."""

import secrets
from collections.abc import Iterator

import pytest
from amounts import size
from release_environment import ReleaseEnvironment

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import Release, install_release, uninstall_release


@pytest.fixture(scope="package")
def environment() -> Iterator[ReleaseEnvironment]:
    """Return a cluster with one fake node of 2 CPUs."""
    with running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running, running.api_client() as client:
        create_nodes(client, [NodePool("fake", 1, size(2000, 2**32))])
        yield ReleaseEnvironment(running, client)


@pytest.fixture(scope="module")
def release(environment: ReleaseEnvironment) -> Iterator[Release]:
    """Return a release with the optimiser, which needs the most."""
    installed = install_release(environment.cluster, profile="optimizer", optimizer_enabled=True)
    yield installed
    uninstall_release(installed)
