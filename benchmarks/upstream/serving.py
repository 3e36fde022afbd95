"""A cluster of fake nodes for upstream's end-to-end tests, and its one scheduler."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kubernetes.client import ApiClient, CoreV1Api

from benchmarks.upstream.profiles import Profile
from stowage_testbed.amounts.resources import parse_all
from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.compare.arms.default import SCHEDULER_NAME, default_arm
from stowage_testbed.helm import install_release

NODES = NodePool(
    "node",
    6,
    parse_all({"cpu": "4", "memory": "8Gi", "pods": 110, "ephemeral-storage": "100Gi"}),
    zones=("a", "b", "c"),
)
"""Two nodes in each of three zones: what upstream's tests ask of a cluster."""

EVERYWHERE = ("kube-proxy", "fluentd-elasticsearch", "node-problem-detector")
"""Pods that upstream waits for on every node, a minute a test, and does without then
(test/e2e/framework/node/wait.go, `requiredPerNodePods`)."""


@contextmanager
def serving_cluster(profile: Profile, gates: Collection[str]) -> Iterator[Cluster]:
    """Yield a cluster whose ``default-scheduler`` has a profile; it goes at the end."""
    spelt = _spell(gates)
    cluster = KwokBinaryCluster(
        f"upstream-{secrets.token_hex(3)}",
        extra_args={
            API_SERVER: {"feature-gates": spelt, "runtime-config": "api/beta=true"},
            CONTROLLER_MANAGER: {"feature-gates": spelt},
        }
        if gates
        else None,
    )
    with running_cluster(cluster), cluster.api_client() as api:
        create_nodes(api, [NODES])
        _give_addresses(api)
        objects = Objects(api)
        with _scheduler(cluster, profile, gates):
            for node in NODES.node_names():
                for name in EVERYWHERE:
                    objects.create(_system_pod(name, node))
            yield cluster


@contextmanager
def _scheduler(
    cluster: Cluster, profile: Profile, gates: Collection[str]
) -> Iterator[None]:
    """Have the cluster's ``default-scheduler`` serve for the block."""
    if profile.plugins != "none":
        install_release(
            cluster,
            profile=profile.shipped or "default",
            optimizer_enabled=profile.plans,
            values={
                "schedulerName": SCHEDULER_NAME,
                "rbac": {"allowPreemption": profile.preempts},
                "scheduler": {"featureGates": dict.fromkeys(gates, True)},
            },
        )
        yield
        return
    arm = default_arm()
    if gates:
        arm = replace(arm, flags=(f"--feature-gates={_spell(gates)}",))
    with (
        tempfile.TemporaryDirectory(prefix="sto-stock-") as folder,
        arm.running(cluster, Path(folder), None),
    ):
        yield


def _give_addresses(api: ApiClient) -> None:
    """Give each node an address of its own; fake ones all have the loopback's.

    Upstream takes a node's address and the loopback for two.
    """
    core = CoreV1Api(api)
    for number, node in enumerate(NODES.node_names(), start=1):
        address = {"type": "InternalIP", "address": f"192.0.2.{number}"}
        core.patch_node_status(node, {"status": {"addresses": [address]}})


def _spell(gates: Collection[str]) -> str:
    return ",".join(f"{gate}=true" for gate in sorted(gates))


def _system_pod(name: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-{node}", "namespace": "kube-system"},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": name, "image": "example.com/none"}],
        },
    }
