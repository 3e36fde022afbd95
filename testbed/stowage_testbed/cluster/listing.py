"""Clusters by name: claim one, list them, and remove what is left over, on a Docker engine too."""

import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import psutil
from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.components import API_SERVER, HOST_PODS, component_process, is_alive, kill_processes
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.cluster.ports import Ports, choose_ports
from stowage_testbed.images.docker_engine import EngineUnreachableError, docker, engine_unavailable_reason

_OWNER_FILE = "owner.json"
_SAME_START_S = 2.0
_ONLY_MINOR = "1.36"
_DRAFT = ".claim-"
_GENTLE_S = 5.0
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST_NAME = 30
KIND_LABEL = "io.x-k8s.kind.cluster"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that started a cluster, written into its folder before anything is started."""

    pid: int
    started_s: float
    """Seconds since the epoch: a process id alone may have been reused."""
    kept: bool
    """The cluster outlives its process: nobody owns it but the user."""
    claim_id: str
    ports: Ports
    backend: Backend = Backend.KWOK_BINARY
    engine: str = ""
    """The Docker engine of its containers, as ``DOCKER_HOST`` names it; empty for Docker's own choice."""
    node_address: str = ""
    """Of the one node that is no fake one, where it is a container."""
    minor: str = _ONLY_MINOR
    """Clusters that do not say it are from when there was one."""
    features: FeatureGates = DEFAULTS

    def is_alive(self) -> bool:
        """Return whether the very process that started the cluster still runs."""
        try:
            process = psutil.Process(self.pid)
            return is_alive(process) and abs(process.create_time() - self.started_s) < _SAME_START_S
        except psutil.NoSuchProcess:
            return False


def write_owner(workdir: Path, owner: Owner) -> None:
    """Write the record in one step, so that a reader sees the old or the new one."""
    write_whole(workdir / _OWNER_FILE, msgspec.json.encode(owner))


def read_owner(workdir: Path) -> Owner | None:
    """Return the record, or None where there is none that can be read."""
    try:
        return msgspec.json.decode((workdir / _OWNER_FILE).read_bytes(), type=Owner)
    except (OSError, msgspec.MsgspecError):
        return None


def check_name(name: str) -> str:
    """Return ``name`` if it may be a cluster's: a folder, and short, as a socket's path has room for 107 bytes."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise StowageError(
            f"{name!r} cannot name a cluster: write 1 to {_LONGEST_NAME} lower-case "
            "letters, digits and dashes, with a letter or digit at both ends"
        )
    return name


def claim_cluster(
    workdir: Path,
    api_port: int | None,
    claim_id: str,
    backend: Backend = Backend.KWOK_BINARY,
    minor: str | None = None,
    *,
    features: FeatureGates = DEFAULTS,
) -> Owner:
    """Make the cluster's folder this process's own, with ports nobody else has; a leftover of its name goes first."""
    clusters = workdir.parent
    clusters.mkdir(parents=True, exist_ok=True)
    with FileLock(clusters / ".lock"):
        remove_drafts(clusters)
        if workdir.exists():
            former = look_at(workdir)
            if former.state == "up":
                raise StowageError(
                    f"cluster {former.name!r} is up already; use it, choose another name, or run: stowage down "
                    f"{former.name}"
                )
            if former.state == "owned":
                raise StowageError(
                    f"cluster {former.name!r} belongs to process {former.owner_pid}, which is still running; wait for "
                    "it, or choose another name"
                )
            remove_cluster(workdir)
        owners = [read_owner(folder) for folder in cluster_folders(clusters)]
        taken = {port for owner in owners if owner for port in owner.ports.all()}
        ports = choose_ports(api_port, taken, start=os.getpid())
        owner = Owner(
            pid=os.getpid(),
            started_s=psutil.Process().create_time(),
            kept=False,
            claim_id=claim_id,
            ports=ports,
            backend=backend,
            engine=os.environ.get("DOCKER_HOST", ""),
            minor=minor or _ONLY_MINOR,
            features=features,
        )
        # The folder appears with its owner in it, in one step: a reader never finds a cluster that seems to have none.
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
    if host_pods := component_process(workdir, HOST_PODS):
        with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            host_pods.terminate()
            host_pods.wait(_GENTLE_S)
    kill_processes(workdir)
    owner = read_owner(workdir)
    if owner is not None and owner.backend is Backend.KIND:
        remove_containers(owner, workdir.name)
    shutil.rmtree(workdir, ignore_errors=True)


def remove_drafts(clusters: Path) -> None:
    """Remove what a process left that was killed in the middle of a claim; the caller holds the lock."""
    for draft in clusters.glob(f"{_DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


def cluster_folders(clusters: Path) -> list[Path]:
    """Return the folders of all clusters, live or not, by name."""
    if not clusters.is_dir():
        return []
    return sorted(path for path in clusters.iterdir() if path.is_dir() and not path.name.startswith("."))


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """One cluster of this user: kept and up, owned by a live process, or a leftover."""

    workdir: Path
    state: Literal["up", "owned", "leftover"]
    owner: Owner | None

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.workdir.name

    @property
    def owner_pid(self) -> int | None:
        """The live process that it belongs to."""
        return self.owner.pid if self.owner and self.state == "owned" else None


def look_at(workdir: Path) -> ClusterEntry:
    """Return what becomes of a cluster: it is of no use if its owner is dead, or if it was kept and does not run."""
    owner = read_owner(workdir)
    if owner is None:
        return ClusterEntry(workdir, "leftover", owner)
    if not owner.kept:
        return ClusterEntry(workdir, "owned" if owner.is_alive() else "leftover", owner)
    if owner.backend is Backend.KWOK_BINARY:
        runs = component_process(workdir, API_SERVER) is not None
    else:
        # An engine that is away runs no containers.
        away = engine_unavailable_reason(owner.engine)
        runs = not away and bool(containers(workdir.name, running=True, engine=owner.engine))
    return ClusterEntry(workdir, "up" if runs else "leftover", owner)


def list_clusters() -> list[ClusterEntry]:
    """Return every cluster by name."""
    return [look_at(folder) for folder in cluster_folders(layout.clusters_folder())]


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
        doomed = [one for one in cluster_folders(clusters) if everything or look_at(one).state == "leftover"]
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
