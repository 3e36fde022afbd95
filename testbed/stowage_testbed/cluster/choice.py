"""Clusters by backend: a new one, or one that is there."""

from __future__ import annotations

from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.kind.cluster import KindCluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.listing import cluster_missing, find_cluster
from stowage_testbed.cluster.owner import read_owner

_KINDS: dict[Backend, type[Cluster]] = {Backend.KWOK_BINARY: KwokBinaryCluster, Backend.KIND: KindCluster}


def new_cluster(backend: Backend, name: str, *, api_port: int | None = None, minor: str | None = None) -> Cluster:
    """Return a cluster that is not up yet."""
    return _KINDS[backend](name, api_port=api_port, minor=minor)


def existing_cluster(name: str) -> Cluster:
    """Return a cluster that is up."""
    entry = find_cluster(name)
    owner = read_owner(entry.workdir)
    if entry.state == "leftover" or owner is None:
        raise cluster_missing(name)
    return _KINDS[owner.backend](name, minor=owner.minor)
