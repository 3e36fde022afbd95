"""How an arm serves: its release's objects on the cluster, with its programs as processes of this machine."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from stowage_testbed.api.client import ApiUnreachableError, Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.manifests import read_manifests
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base import health
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.cluster.service_account import write_account_kubeconfig
from stowage_testbed.compare.arms.program import ArmProcess, Program
from stowage_testbed.run.arm import ClientLimits, RunningArm

NAMESPACE = "kube-system"
"""Where schedulers live, and no pod of a scenario."""
LABEL = "stowage.dev/arm"
STOCK_SCHEDULER = ("system:kube-scheduler", "system:volume-scheduler")
"""The roles that Kubernetes itself gives its scheduler."""

_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Rights:
    """Roles of the cluster that an arm is given, and rules beyond them."""

    cluster_roles: tuple[str, ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of_file(cls, file: Path) -> Self:
        """Return a stock scheduler's rights with the rules of the first ClusterRole in a project's file."""
        documents = yaml.safe_load_all(file.read_text("utf-8"))
        rules = next(tuple(one["rules"]) for one in documents if one and one["kind"] == "ClusterRole")
        return cls(STOCK_SCHEDULER, rules)


@dataclass(frozen=True, slots=True)
class Resources:
    """A folder of custom resource definitions, without which an arm cannot start.

    At its end the objects of ``kinds`` go; the definitions stay, as other arms may use them.
    """

    definitions: Path
    kinds: tuple[str, ...]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an arm runs.

    Its folder has its configuration, logs and ``kubeconfig``. The path of ``short`` is short enough for sockets, whose
    paths may have 107 characters.
    """

    cluster: Cluster
    folder: Path
    short: Path

    @property
    def kubeconfig(self) -> Path:
        """The file with its account's credentials."""
        return self.folder / "kubeconfig.yaml"

    @property
    def port(self) -> int:
        """A port that is free for it."""
        return port_beside(self.cluster.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRelease:
    """What an arm is made of in a place: programs, in the order of their start, and what they need on the cluster."""

    programs: Sequence[Program]
    configuration: str
    rights: Rights
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    resources: Resources | None = None


class ReleasedArm(ABC):
    """An arm that serves as its release says."""

    __slots__ = ()
    name: str

    @abstractmethod
    def release(self, place: Place, limits: ClientLimits | None) -> ArmRelease:
        """Return what to start in a place, whose folder gets its configuration."""

    @contextmanager
    def running(self, cluster: Cluster, folder: Path, limits: ClientLimits | None) -> Iterator[RunningArm]:
        """Start it and stop it at the end; on entry it serves."""
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as ending:
            short = ending.enter_context(tempfile.TemporaryDirectory(prefix="stowage-"))
            # Programs run in the folder: its path must be a full one.
            place = Place(cluster, folder.resolve(), Path(short))
            release = self.release(place, limits)
            if release.resources:
                ending.enter_context(_custom_resources(cluster, release.resources))
            ending.enter_context(_account(place, self.name.replace("@", "-"), release))
            processes = {one.name: ArmProcess(self.name, one, place.folder) for one in release.programs}
            try:
                for process in processes.values():
                    process.start(cluster.workdir)
                yield ServingArm(processes, release.configuration)
            finally:
                with uninterrupted():
                    for process in reversed(processes.values()):
                        process.end()


@dataclass(frozen=True, slots=True)
class ServingArm:
    """A scheduler that serves, with what runs beside it."""

    processes: Mapping[str, ArmProcess]
    configuration: str

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes, whose memory and CPU time count as its own."""
        return tuple(process.pid for process in self.processes.values())

    @property
    def log_files(self) -> Mapping[str, Path]:
        """Its logs by the name of the program that writes them."""
        return {name: process.log for name, process in self.processes.items()}

    def check(self) -> None:
        """Raise `ArmEndedError` if one of its programs does not run any more."""
        for process in self.processes.values():
            process.check()


@contextmanager
def ended_with(running: RunningArm) -> Iterator[None]:
    """End the waits of the block once a process of the arm has ended; raises `ArmEndedError` then.

    Waiting for pods that no scheduler places any more would take a long time.
    """
    running.check()
    with health.needing(running.check):
        yield


@contextmanager
def _account(place: Place, arm: str, release: ArmRelease) -> Iterator[None]:
    """Make an arm's account, kubeconfig and ConfigMaps; take them back at the end."""
    name, cluster = f"stowage-arm-{arm}", place.cluster
    # Results are kept and handed on; a cluster's folder goes with it.
    token = cluster.workdir / f"arm-{arm}.token"

    def forget(objects: Objects) -> None:
        place.kubeconfig.unlink(missing_ok=True)
        token.unlink(missing_ok=True)
        for kind in ("ClusterRoleBinding", "ClusterRole", "ConfigMap", "ServiceAccount"):
            namespace = "" if kind.startswith("Cluster") else NAMESPACE
            for one in objects.list_all(kind, namespace):
                if (one["metadata"].get("labels") or {}).get(LABEL) == arm:
                    objects.delete(kind, one["metadata"]["name"], namespace=namespace)

    with cluster.api_client() as api:
        objects = Objects(api)
        try:
            # What a killed comparison left would have other rights.
            forget(objects)
            for manifest in _manifests(name, release):
                manifest["metadata"]["labels"] = {LABEL: arm}
                objects.create(manifest)
            write_account_kubeconfig(api, cluster.kubeconfig, NAMESPACE, name, place.kubeconfig, token_file=token)
            yield
        finally:
            # A cluster that does not answer any more takes its objects along.
            with uninterrupted(), suppress(ApiUnreachableError):
                forget(objects)


def _manifests(name: str, release: ArmRelease) -> Iterator[Manifest]:
    yield make_manifest("v1", "ServiceAccount", name, NAMESPACE)
    roles = list(release.rights.cluster_roles)
    if release.rights.rules:
        yield make_manifest(f"{_RBAC}/v1", "ClusterRole", name, rules=list(release.rights.rules))
        roles.append(name)
    for role in roles:
        yield make_manifest(
            f"{_RBAC}/v1",
            "ClusterRoleBinding",
            f"{name}:{role}",
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            subjects=[{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        )
    for config_map, data in release.config_maps.items():
        yield make_manifest("v1", "ConfigMap", config_map, NAMESPACE, data=dict(data))


@contextmanager
def _custom_resources(cluster: Cluster, resources: Resources) -> Iterator[None]:
    with cluster.api_client() as api:
        objects = Objects(api)
        applied = read_manifests(resources.definitions, resources.definitions)
        for one in applied:
            # There may be an older one.
            objects.create(one, or_keep=True)
            objects.patch(DEFINITION, one["metadata"]["name"], one)
        for one in applied:
            objects.await_definition(one["metadata"]["name"], HANG_S)
    try:
        yield
    finally:
        # A cluster that does not answer any more takes its objects along.
        with uninterrupted(), suppress(ApiUnreachableError), cluster.api_client() as api:
            for kind in resources.kinds:
                Objects(api).delete_all(kind, resources.namespace)
