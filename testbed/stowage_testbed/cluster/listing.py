"""Which clusters there are, in what state, and which of them are leftovers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.claim import check_name, cluster_folders, is_leftover, remove_cluster, remove_drafts
from stowage_testbed.cluster.owner import read_owner
from stowage_testbed.images.docker_engine import EngineUnreachableError

State = Literal["up", "owned", "leftover"]


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """One cluster of this user: kept and up, owned by a live process, or a leftover."""

    name: str
    workdir: Path
    state: State
    owner_pid: int | None
    api_port: int | None
    backend: Backend | None = None


def list_clusters() -> list[ClusterEntry]:
    """Return every cluster by name."""
    return [_entry(folder) for folder in cluster_folders(layout.clusters_folder())]


def find_cluster(name: str) -> ClusterEntry:
    """Return the cluster called ``name``."""
    entries = {entry.name: entry for entry in list_clusters()}
    if check_name(name) not in entries:
        raise cluster_missing(name, *entries)
    return entries[name]


def cluster_missing(name: str, *known: str) -> StowageError:
    """Return the error that there is no such cluster, but the known ones."""
    there = f"there are {', '.join(known)}" if known else "there is none"
    return StowageError(f"no cluster {name!r} ({there}); run: stowage up {name}")


def purge_clusters(*, everything: bool = False) -> list[str]:
    """Remove leftovers, or every cluster, and return the names of what was removed."""
    clusters = layout.clusters_folder()
    if not clusters.is_dir():
        return []
    # The lock keeps a folder from being removed between its claim and its check.
    with FileLock(clusters / ".lock"):
        remove_drafts(clusters)
        doomed = [f for f in cluster_folders(clusters) if everything or is_leftover(f)]
        away: list[EngineUnreachableError] = []
        for folder in doomed:
            try:
                remove_cluster(folder)
            except EngineUnreachableError as error:
                away.append(error)
    # Only a request for all must report it; others learn it when they need Docker.
    if away and everything:
        raise away[0]
    return [folder.name for folder in doomed if not folder.exists()]


def _entry(folder: Path) -> ClusterEntry:
    owner = read_owner(folder)
    state: State = "up"
    if is_leftover(folder):
        state = "leftover"
    elif owner is not None and not owner.kept:
        state = "owned"
    return ClusterEntry(
        name=folder.name,
        workdir=folder,
        state=state,
        owner_pid=owner.pid if owner and state == "owned" else None,
        api_port=owner.ports.kube_apiserver if owner else None,
        backend=owner.backend if owner else None,
    )
