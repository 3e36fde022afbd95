"""The smallest scenario there is: one Deployment from none to many replicas.

It is the burst of the second paper (section 5.2.1), for the checks of the harness
itself. A comparison of schedulers runs a scenario file instead.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubernetes.client import ApiClient

from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster import Cluster, KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.helm import install_release
from stowage_testbed.observe.audit import (
    AuditMark,
    read_audit_entries,
    read_binding_times_ns,
)
from stowage_testbed.observe.receipt import NS_PER_S
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload

NODE = Resources(cpu=32_000, memory=256 * 2**30, pods=MOST_PODS)
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
        pool = NodePool("node", nodes, NODE)
        with cluster.api_client() as api:
            create_nodes(api, [pool])
        release = install_release(cluster, profile=PROFILE, optimizer_enabled=False)
        yield BurstEnvironment(
            cluster,
            PodOverrides("default-scheduler"),
            tuple(release.process_ids().values()),
        )


PREPARE_S = 30.0
CLEAR_S = 300.0
POLL_S = 0.25
"""Between two looks at one small object: nothing beside a burst of hundreds of pods."""


@contextmanager
def burst_namespace(api: ApiClient) -> Iterator[str]:
    """Yield a new namespace that takes pods; it is empty and deleted afterwards."""
    name = f"burst-{secrets.token_hex(3)}"
    objects = Objects(api)
    objects.create(make_manifest("v1", "Namespace", name))
    try:
        wait_until(
            f"the default service account of {name}",
            lambda: objects.count("ServiceAccount", name),
            bool,
            timeout_s=PREPARE_S,
        )
        yield name
    finally:
        for kind in ("Deployment", "ReplicaSet", "Pod"):
            objects.delete_all(kind, name)
        wait_until(
            f"the pods of {name} to go",
            lambda: objects.count("Pod", name),
            lambda pods: pods == 0,
            timeout_s=CLEAR_S,
            poll_s=POLL_S,
        )
        objects.delete("Namespace", name)


def burst_duration_s(
    audit_log: Path, start: AuditMark, namespace: str, pods: int
) -> float:
    """Return the seconds from the first creation to the last binding.

    No watch of the burst is needed.

    Parameters
    ----------
    start
        Where the burst's part of the log begins.
    pods
        How many creations and bindings there must be.

    Raises
    ------
    StowageError
        There are fewer or more.
    """
    entries = list(read_audit_entries(audit_log, start))
    created_ns = sorted(
        entry.stage_ns
        for entry in entries
        if entry.creates("pods", "") and entry.namespace == namespace
    )
    bound_ns = [
        stamp_ns
        for key, stamp_ns in read_binding_times_ns(entries).items()
        if key.startswith(f"{namespace}/")
    ]
    if not len(created_ns) == len(bound_ns) == pods:
        raise StowageError(
            f"of {pods} pods of {namespace} the audit log shows {len(created_ns)} "
            f"created and {len(bound_ns)} bound; see whether the scheduler serves and "
            "the nodes have room"
        )
    return (max(bound_ns) - min(created_ns)) / NS_PER_S


NAME = "burst"
MIB = 2**20
SLOWEST_PER_S = 20
"""Pods that any scheduler binds in a second on any machine."""

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Burst:
    """Equal pods, created at once, with what their scheduler overrides in them."""

    replicas: int
    pod_overrides: PodOverrides

    @property
    def workload(self) -> Workload:
        """The burst as a scenario has it."""
        return Workload(
            name=NAME,
            kind="Deployment",
            replicas=self.replicas,
            # The paper's requests.
            requests=Resources(cpu=10, memory=16 * MIB),
            labels=self.pod_overrides.labels,
            annotations=self.pod_overrides.annotations,
            pod={"schedulerName": self.pod_overrides.scheduler_name},
        )

    @property
    def timeout_s(self) -> float:
        """The deadline for all to be ready, in seconds."""
        return PATIENCE_S + self.replicas / SLOWEST_PER_S

    def submit(self, objects: Objects, namespace: str) -> None:
        """Create the Deployment."""
        objects.create(make_controller(self.workload, namespace))
