"""The containers of one cluster, known by the labels of kwokctl and kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stowage_testbed.base import layout
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.owner import Owner
from stowage_testbed.docker.engine import (
    EngineUnreachableError,
    docker,
    engine_unavailable_reason,
)

_PREFIXES = {Backend.KWOK_DOCKER: "kwok-", Backend.KIND: "stowage-"}
_LABELS: Mapping[Backend, str] = MappingProxyType(
    {
        Backend.KWOK_DOCKER: "com.docker.compose.project",
        Backend.KIND: "io.x-k8s.kind.cluster",
    }
)


def project(backend: Backend, cluster: str) -> str:
    """Return what a cluster is called in Docker: its label's value and its network."""
    return f"{_PREFIXES[backend]}{cluster}"


def containers(
    backend: Backend, cluster: str, *, running: bool = False, engine: str = ""
) -> list[str]:
    """Return the names of a cluster's containers."""
    label = f"label={_LABELS[backend]}={project(backend, cluster)}"
    which = () if running else ("--all",)
    listing = ("ps", *which, "--filter", label, "--format", "{{.Names}}")
    return sorted(docker(*listing, engine=engine).split())


def containers_run(owner: Owner, cluster: str) -> bool:
    """Return whether containers of a cluster run; an engine that is away runs none."""
    if engine_unavailable_reason(owner.engine):
        return False
    return bool(containers(owner.backend, cluster, running=True, engine=owner.engine))


def remove_containers(owner: Owner, cluster: str) -> None:
    """Remove a cluster's containers, their volumes and their network.

    Raises
    ------
    EngineUnreachableError
        The engine is away, and would start them again when it is back.
    """
    if owner.backend not in _LABELS:
        return
    if reason := engine_unavailable_reason(owner.engine):
        if owner.engine.startswith(f"unix://{layout.docker_folder()}"):
            return  # that one took them with it when it ended
        raise EngineUnreachableError(
            f"the containers of cluster {cluster!r} cannot be removed, as the Docker "
            f"engine {owner.engine or 'of this machine'} does not answer ({reason}); "
            "start it, or remove the cluster's folder by hand if the engine is gone "
            "for good"
        )
    if names := containers(owner.backend, cluster, engine=owner.engine):
        docker("rm", "--force", "--volumes", *names, engine=owner.engine)
    network = project(owner.backend, cluster)
    listing = ("network", "ls", "--quiet", "--filter", f"name=^{network}$")
    if docker(*listing, engine=owner.engine):
        docker("network", "rm", network, engine=owner.engine)


def create_network(backend: Backend, cluster: str) -> None:
    """Create the network that kwokctl or kind would create, bound to loopback.

    What a container of it publishes is then not offered to other machines.
    """
    name = project(backend, cluster)
    label = f"--label={_LABELS[backend]}={name}"
    loopback = "--opt=com.docker.network.bridge.host_binding_ipv4=127.0.0.1"
    docker("network", "create", label, loopback, name)
