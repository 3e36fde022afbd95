"""Clusters by name: claim one, list them, and remove what is left over, on a Docker engine too."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.components import API_SERVER, HOST_PODS, component_process, end_gently, kill_processes
from stowage_testbed.cluster.owner import Owner, read_owner, write_owner
from stowage_testbed.cluster.ports import choose_ports
from stowage_testbed.images.docker_engine import EngineUnreachableError, docker, engine_unavailable_reason

_DRAFT = ".claim-"
_GENTLE_S = 5.0
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST_NAME = 30
KIND_LABEL = "io.x-k8s.kind.cluster"


def check_name(name: str) -> str:
    """Return ``name`` if it may be a cluster's: a folder, and short, as a socket's path has room for 107 bytes."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise StowageError(
            f"{name!r} cannot name a cluster: write 1 to {_LONGEST_NAME} lower-case "
            "letters, digits and dashes, with a letter or digit at both ends"
        )
    return name


def claim_cluster(
    workdir: Path, api_port: int | None, claim_id: str, backend: Backend = Backend.KWOK_BINARY, minor: str | None = None
) -> Owner:
    """Make the cluster's folder this process's own, with ports nobody else has; a leftover of its name goes first."""
    clusters = workdir.parent
    clusters.mkdir(parents=True, exist_ok=True)
    with FileLock(clusters / ".lock"):
        remove_drafts(clusters)
        if workdir.exists():
            former = read_owner(workdir)
            if former is not None and not is_leftover(workdir):
                raise _refuse_live(workdir.name, former)
            remove_cluster(workdir)
        owners = [read_owner(folder) for folder in cluster_folders(clusters)]
        taken = {port for owner in owners if owner for port in owner.ports.all()}
        ports = choose_ports(api_port, taken, start=os.getpid())
        owner = Owner.this_process(ports, claim_id, backend, minor)
        # The folder appears with its owner in it, in one step: a reader never finds
        # a cluster that seems to have none.
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=clusters))
        try:
            for folder in ("logs", "pids", "mnt"):
                (draft / folder).mkdir()
            write_owner(draft, owner)
            draft.rename(workdir)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return owner


def remove_cluster(workdir: Path) -> None:
    """End every process of a cluster, the release's first, and remove its folder."""
    host_pods = component_process(workdir, HOST_PODS)
    if host_pods is not None:
        end_gently(host_pods, _GENTLE_S)
    kill_processes(workdir.name, workdir)
    owner = read_owner(workdir)
    if owner is not None and owner.backend is Backend.KIND:
        remove_containers(owner, workdir.name)
    shutil.rmtree(workdir, ignore_errors=True)


def remove_drafts(clusters: Path) -> None:
    """Remove what a process left that was killed in the middle of a claim; the caller holds the lock."""
    for draft in clusters.glob(f"{_DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


def is_leftover(workdir: Path) -> bool:
    """Return whether a cluster is of no use: its owner is dead, or it was kept and does not run any more."""
    owner = read_owner(workdir)
    if owner is None:
        return True
    if not owner.kept:
        return not owner.is_alive()
    if owner.backend is Backend.KWOK_BINARY:
        return component_process(workdir, API_SERVER) is None
    return not containers_run(owner, workdir.name)


def cluster_folders(clusters: Path) -> list[Path]:
    """Return the folders of all clusters, live or not, by name."""
    if not clusters.is_dir():
        return []
    return sorted(path for path in clusters.iterdir() if path.is_dir() and not path.name.startswith("."))


def _refuse_live(name: str, owner: Owner) -> StowageError:
    if owner.kept:
        return StowageError(f"cluster {name!r} is up already; use it, choose another name, or run: stowage down {name}")
    return StowageError(
        f"cluster {name!r} belongs to process {owner.pid}, which is still running; wait for it, or choose another name"
    )


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
    entries = []
    for folder in cluster_folders(layout.clusters_folder()):
        owner = read_owner(folder)
        state: State = "leftover" if is_leftover(folder) else "owned" if owner and not owner.kept else "up"
        entries.append(
            ClusterEntry(
                name=folder.name,
                workdir=folder,
                state=state,
                owner_pid=owner.pid if owner and state == "owned" else None,
                api_port=owner.ports.kube_apiserver if owner else None,
                backend=owner.backend if owner else None,
            )
        )
    return entries


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


def kind_name(cluster: str) -> str:
    """Return what kind calls a cluster: its label's value and its network's name."""
    return f"stowage-{cluster}"


def containers(cluster: str, *, running: bool = False, engine: str = "") -> list[str]:
    """Return the names of a cluster's containers."""
    label = f"label={KIND_LABEL}={kind_name(cluster)}"
    which = () if running else ("--all",)
    listing = ("ps", *which, "--filter", label, "--format", "{{.Names}}")
    return sorted(docker(*listing, engine=engine).split())


def containers_run(owner: Owner, cluster: str) -> bool:
    """Return whether containers of a cluster run; an engine that is away runs none."""
    if engine_unavailable_reason(owner.engine):
        return False
    return bool(containers(cluster, running=True, engine=owner.engine))


def remove_containers(owner: Owner, cluster: str) -> None:
    """Remove a cluster's containers, their volumes and their network."""
    if reason := engine_unavailable_reason(owner.engine):
        raise EngineUnreachableError(
            f"the containers of cluster {cluster!r} cannot be removed, as the Docker "
            f"engine {owner.engine or 'of this machine'} does not answer ({reason}); "
            "start it, or remove the cluster's folder by hand if the engine is gone "
            "for good"
        )
    if names := containers(cluster, engine=owner.engine):
        docker("rm", "--force", "--volumes", *names, engine=owner.engine)
    network = kind_name(cluster)
    listing = ("network", "ls", "--quiet", "--filter", f"name=^{network}$")
    if docker(*listing, engine=owner.engine):
        docker("network", "rm", network, engine=owner.engine)
