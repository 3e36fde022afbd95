"""Clusters whose control plane has feature gates on that upstream leaves off."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from amounts import size
from release_environment import ReleaseEnvironment

from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.node_pool import Taint

GB = 10**9


@contextmanager
def _gated_cluster(gate: str, served: str) -> Iterator[ReleaseEnvironment]:
    cluster = KwokBinaryCluster(
        f"test-{secrets.token_hex(3)}",
        minor="1.37",
        extra_args={
            API_SERVER: {
                "feature-gates": f"{gate}=true",
                "runtime-config": f"{served}=true",
            },
            CONTROLLER_MANAGER: {"feature-gates": f"{gate}=true"},
        },
    )
    apart = Taint("example.com/gangs", "NoSchedule")
    with running_cluster(cluster), cluster.api_client() as client:
        create_nodes(
            client,
            [
                NodePool("node", 2, size(4000, 4 * GB)),
                NodePool("gang", 1, size(4000, 4 * GB), taints=(apart,)),
            ],
        )
        yield ReleaseEnvironment(cluster, client)


@pytest.fixture(scope="module")
def with_pod_groups() -> Iterator[ReleaseEnvironment]:
    """Return two nodes of 4 GB, and one that only tolerant pods go to."""
    with _gated_cluster("GenericWorkload", "scheduling.k8s.io/v1beta1") as environment:
        yield environment


@pytest.fixture(scope="module")
def with_all_beta() -> Iterator[ReleaseEnvironment]:
    """Return the same nodes, with every feature on that is Beta."""
    with _gated_cluster("AllBeta", "api/beta") as environment:
        yield environment
