"""A cluster whose pods the stock scheduler places, with the chart's defaults beside."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from amounts import size
from release_environment import ReleaseEnvironment

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.helm import install_release

GB = 10**9
NODES = 20
PRICE = "0.192"


@pytest.fixture(scope="package")
def environment(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ReleaseEnvironment]:
    """Return twenty nodes of one price, without pods."""
    folder = tmp_path_factory.mktemp("stock")
    labels = {"stowage.dev/hourly-price": PRICE}
    with (
        running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running,
        running.api_client() as client,
        default_arm().running(running, folder, None),
    ):
        pool = NodePool("node", NODES, size(4000, 8 * GB), labels=labels)
        create_nodes(client, [pool])
        install_release(
            running,
            profile="optimizer",
            optimizer_enabled=True,
            values={"schedulerName": "stowage"},
        )
        yield ReleaseEnvironment(running, client)
