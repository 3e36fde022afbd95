"""A cluster with nodes and one scheduler, for bursts."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stowage_testbed.cluster import Cluster, KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import install_release
from stowage_testbed.run.arm import PodOverrides

NODE_CPU_MILLI = 32_000
NODE_MEMORY_BYTES = 256 * 2**30
"""KWOK's own default node, but for its number of pods."""

PROFILE = "deterministic"
"""Its client limits are lifted: one that is held back would hide the harness."""


@dataclass(frozen=True, slots=True)
class BurstEnvironment:
    """What a burst needs: a cluster, and the overrides of its pods.

    Attributes
    ----------
    pids
        The scheduler's processes.
    """

    cluster: Cluster
    pod_overrides: PodOverrides
    pids: tuple[int, ...]


@contextmanager
def burst_environment(nodes: int) -> Iterator[BurstEnvironment]:
    """Yield a cluster of its own with so many equal nodes and a scheduler that serves.

    Each node takes 110 pods, as a kubelet does.
    """
    made = KwokBinaryCluster(f"burst-{secrets.token_hex(3)}")
    with running_cluster(made) as cluster:
        pool = NodePool("node", nodes, NODE_CPU_MILLI, NODE_MEMORY_BYTES)
        with cluster.api_client() as api:
            create_nodes(api, [pool])
        release = install_release(cluster, profile=PROFILE, optimizer_enabled=False)
        yield BurstEnvironment(
            cluster,
            PodOverrides("default-scheduler"),
            tuple(release.process_ids().values()),
        )
