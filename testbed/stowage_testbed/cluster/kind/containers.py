"""The containers of one cluster on an engine, known by kind's label."""

from __future__ import annotations

from stowage_testbed.cluster.owner import Owner
from stowage_testbed.images.docker_engine import EngineUnreachableError, docker, engine_unavailable_reason

_LABEL = "io.x-k8s.kind.cluster"


def kind_name(cluster: str) -> str:
    """Return what kind calls a cluster: its label's value and its network's name."""
    return f"stowage-{cluster}"


def containers(cluster: str, *, running: bool = False, engine: str = "") -> list[str]:
    """Return the names of a cluster's containers."""
    label = f"label={_LABEL}={kind_name(cluster)}"
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


def create_network(cluster: str) -> None:
    """Create the network that kind would create, bound to loopback.

    What a container of it publishes is then not offered to other machines.
    """
    name = kind_name(cluster)
    label = f"--label={_LABEL}={name}"
    loopback = "--opt=com.docker.network.bridge.host_binding_ipv4=127.0.0.1"
    docker("network", "create", label, loopback, name)
