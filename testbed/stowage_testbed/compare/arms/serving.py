"""How an arm serves: its release's objects on the cluster, with its programs as processes of this machine."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
class Place:
    """Where an arm runs: its folder has its configuration and logs.

    The path of ``short`` is short enough for sockets, whose paths may have 107 characters.
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
    """What an arm is made of in a place: programs, in the order of their start, and what they need on the cluster.

    Its account gets ``cluster_roles``, and ``rules`` beyond them. ``definitions`` is a folder of custom resource
    definitions, which stay, as other arms may use them; the objects of ``kinds``, in a namespace, go at the end.
    """

    programs: Sequence[Program]
    configuration: str
    cluster_roles: Sequence[str] = STOCK_SCHEDULER
    rules: Sequence[Mapping[str, Any]] = ()
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    definitions: Path | None = None
    kinds: tuple[str, ...] = ()
    namespace: str = ""


def read_rules(file: Path) -> list[Mapping[str, Any]]:
    """Return the rules of the first ClusterRole in a project's file."""
    documents = yaml.safe_load_all(file.read_text("utf-8"))
    return next(list(one["rules"]) for one in documents if one and one["kind"] == "ClusterRole")


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
            ending.enter_context(_installed(place, self.name.replace("@", "-"), release))
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
    """End the waits of the block, which may be long, once a process of the arm has ended: an `ArmEndedError`."""
    running.check()
    with health.needing(running.check):
        yield


@contextmanager
def _installed(place: Place, arm: str, release: ArmRelease) -> Iterator[None]:
    """Make what a release needs on the cluster, with an account and its kubeconfig; take it back at the end."""
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
        _define(objects, release.definitions)
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
                for kind in release.kinds:
                    objects.delete_all(kind, release.namespace)


def _define(objects: Objects, definitions: Path | None) -> None:
    manifests = read_manifests(definitions, definitions) if definitions else ()
    for one in manifests:
        # There may be an older one.
        objects.create(one, or_keep=True)
        objects.patch(DEFINITION, one["metadata"]["name"], one)
    for one in manifests:
        objects.await_definition(one["metadata"]["name"], HANG_S)


def _manifests(name: str, release: ArmRelease) -> Iterator[Manifest]:
    yield make_manifest("v1", "ServiceAccount", name, NAMESPACE)
    roles = [*release.cluster_roles, *([name] if release.rules else ())]
    if release.rules:
        yield make_manifest(f"{_RBAC}/v1", "ClusterRole", name, rules=list(release.rules))
    subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    for role in roles:
        reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
        binding = f"{name}:{role}"
        yield make_manifest(f"{_RBAC}/v1", "ClusterRoleBinding", binding, roleRef=reference, subjects=[subject])
    for config_map, data in release.config_maps.items():
        yield make_manifest("v1", "ConfigMap", config_map, NAMESPACE, data=dict(data))
