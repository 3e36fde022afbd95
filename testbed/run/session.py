"""The cluster of a run: made for it, or one that was there before."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.cluster.census import find_cluster, purge_clusters
from testbed.cluster.errors import ClusterMissingError
from testbed.cluster.interruption import ending_cleanly, take_down
from testbed.cluster.kwok_binary import KwokBinaryCluster
from testbed.cluster.protocol import Cluster
from testbed.run.cluster_needs import cluster_for
from testbed.run.listener import Listener
from testbed.run.request import RunRequest
from testbed.run.stopwatch import Stopwatch
from testbed.toolchain import tool_path

TOOLS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kwok",
    "kwokctl",
    "helm",
    "stowage-scheduler",
)


@contextmanager
def cluster_session(
    request: RunRequest, listener: Listener, stopwatch: Stopwatch
) -> Iterator[Cluster]:
    """Yield the cluster of a run; one that was made for it is gone afterwards.

    Leftovers of runs that were killed are removed first. A cluster that the user named
    is never brought down, and one of the run's own stays if it is to be kept.
    """
    with ending_cleanly():
        if request.cluster is not None:
            yield existing_cluster(request.cluster)
            return
        for name in purge_clusters():
            listener.stage(f"leftover cluster {name}: removed")
        cluster = cluster_for(f"run-{secrets.token_hex(3)}", request.scenarios)
        try:
            listener.stage(f"cluster {cluster.name}: up")
            with stopwatch.step("cluster up"):
                cluster.up()
            if request.keep_cluster:
                cluster.keep()
            yield cluster
        finally:
            with stopwatch.step("cluster down"):
                _end(cluster, request, listener)


def check_tools() -> None:
    """Check that every tool a run needs is installed.

    Raises
    ------
    ToolMissingError
        One is not; names the command that installs it.
    """
    for name in TOOLS:
        tool_path(name)


def existing_cluster(name: str) -> Cluster:
    """Return a cluster that is up.

    Raises
    ------
    ClusterMissingError
        There is none of that name, or only what is left of one.
    """
    if find_cluster(name).state == "leftover":
        raise ClusterMissingError(name, ())
    return KwokBinaryCluster(name)


def _end(cluster: KwokBinaryCluster, request: RunRequest, listener: Listener) -> None:
    if request.keep_cluster:
        listener.stage(
            f"cluster {cluster.name} is kept; use it with KUBECONFIG="
            f"{cluster.kubeconfig}, end it with: stowage down {cluster.name}"
        )
    else:
        listener.stage(f"cluster {cluster.name}: down")
        take_down(cluster)
