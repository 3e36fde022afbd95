"""How an arm serves: its manifests are on the cluster, and its pod's containers are processes of this machine."""

import hashlib
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import yaml

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.manifests import read_manifests, render_manifests
from stowage_testbed.api.objects import Objects
from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base import health
from stowage_testbed.base.child import log_end
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.backend import SCHEDULER, Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import HOST_NODE, HOST_PODS, HOST_TAINT, component_process, start_host_pods
from stowage_testbed.cluster.feature_gates import FeatureGates
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.compare.arms.settings import ArmSettings, ClientLimits
from stowage_testbed.helm import Release
from stowage_testbed.helm.release import api_server_url
from stowage_testbed.helm.serving import await_serving, diagnose
from stowage_testbed.hostpods import EndedContainers
from stowage_testbed.run.request import install_needed, list_tools
from stowage_testbed.scenario.model import Scenario

NAMESPACE = "kube-system"
"""Where schedulers live, and no pod of a scenario."""
LABEL = "stowage.dev/arm"
LONGEST_NAME = 53
"""Characters of the name of a release."""
STOCK_SCHEDULER = ("system:kube-scheduler", "system:volume-scheduler")
"""The roles that Kubernetes itself gives its scheduler."""

READY_TIMEOUT_S = HANG_S
LOG_LINES = 20
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_KINDS = ("ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role", "ConfigMap", "ServiceAccount", "Service")
"""What goes after an arm's Deployment and its pods."""


class ArmEndedError(StowageError):
    """A scheduler ended in the middle of a run."""


@dataclass(slots=True)
class RunningArm:
    """A scheduler that serves: its memory and CPU time are those of ``pids``; logs are by what wrote them."""

    arm: "Arm"
    pids: tuple[int, ...]
    log_files: Mapping[str, Path]
    configuration: str
    ended: EndedContainers
    _why: str = field(default="", init=False)

    @property
    def name(self) -> str:
        """The arm's name."""
        return self.arm.name

    @property
    def pod_overrides(self) -> PodOverrides:
        """What the arm changes in every pod."""
        return self.arm.pod_overrides

    @property
    def scheduler_name(self) -> str:
        """What its pods have as `schedulerName`."""
        return self.pod_overrides.scheduler_name

    @property
    def optimizes(self) -> bool:
        """Whether it makes plans for pods that it finds no room for."""
        return "PriorityOptimizer" in self.configuration

    def check(self) -> None:
        """Raise `ArmEndedError` if one of its programs has ended."""
        for one in self.ended.new():
            log = Path(one.log)
            if log in self.log_files.values() and not self._why:
                self._why = f"arm {self.name} ended by itself with {one.code}; {_log_end(log)}"
        if self._why:
            raise ArmEndedError(self._why)


@dataclass(frozen=True)
class Place:
    """Where an arm runs: its ``folder`` gets its manifests and logs, and its programs run there."""

    cluster: Cluster
    name: str
    folder: Path

    @property
    def mounts(self) -> Path:
        """Where its pod sees its volumes."""
        return self.cluster.workdir / "mnt" / "arm"

    @property
    def kubeconfig(self) -> Path:
        """The file with its account's credentials."""
        return self.mounts / "config" / "kubeconfig.yaml"

    @property
    def config(self) -> Path:
        """The file with its configuration."""
        return self.mounts / "config" / "configuration"

    @cached_property
    def port(self) -> int:
        """A port that is free for it."""
        return port_beside(self.cluster.name)


@dataclass(frozen=True, slots=True)
class ArmRelease:
    """What an arm has on the cluster, and its configuration as its scheduler reads it.

    ``definitions`` is a folder of custom resource definitions, which stay, as other arms may use them; the objects of
    ``kinds``, in a namespace, go at the end.
    """

    manifests: list[dict[str, Any]]
    configuration: str
    definitions: Path | None = None
    kinds: tuple[str, ...] = ()
    namespace: str = ""


def make_manifests(
    place: Place,
    command: Sequence[str],
    configuration: str,
    ready: str,
    *,
    environment: Mapping[str, str] | None = None,
    cluster_roles: Sequence[str] = STOCK_SCHEDULER,
    rules: Sequence[Mapping[str, Any]] = (),
    config_maps: Mapping[str, Mapping[str, str]] | None = None,
) -> list[dict[str, Any]]:
    """Return the manifests of a scheduler that is one program; it schedules once the address ``ready`` answers.

    Its account gets the ``cluster_roles``, and the ``rules`` beyond them.
    """
    address = urlsplit(ready)

    def literal(text: str) -> str:
        """Return a text in which a kubelet replaces nothing."""
        return text.replace("$", "$$")

    variables = {"HOME": str(place.folder), **(environment or {})}
    return render_manifests(
        "stowage_testbed.compare.arms",
        "arm.yaml.j2",
        name=place.name,
        namespace=NAMESPACE,
        node=HOST_NODE,
        taint=HOST_TAINT,
        server=api_server_url(place.cluster.kubeconfig),
        mounts=place.mounts,
        folder=str(place.folder),
        command=list(map(literal, command)),
        environment={name: literal(value) for name, value in variables.items()},
        configuration=configuration,
        ready={
            "scheme": address.scheme,
            "port": address.port or (443 if address.scheme == "https" else 80),
            "path": (address.path or "/") + (f"?{address.query}" if address.query else ""),
        },
        cluster_roles=cluster_roles,
        rules=rules,
        config_maps=config_maps or {},
    )


def read_rules(file: Path) -> list[Mapping[str, Any]]:
    """Return the rules of the first ClusterRole in a project's file."""
    documents = yaml.safe_load_all(file.read_text("utf-8"))
    return next(list(one["rules"]) for one in documents if one and one["kind"] == "ClusterRole")


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a short digest of parts, in their order: runs of two builds are not rounds of one comparison."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With their lengths, no two lists of parts are alike.
        found.update(f"{len(data)}:".encode() + data)
    return found.hexdigest()[:12]


class Arm(ABC):
    """A scheduler under comparison, which serves as its release says."""

    __slots__ = ()
    name: str
    """The word for it in tables and on the command line."""
    minor: str
    """Of Kubernetes, that its cluster is of, as in ``1.37``."""
    tools: tuple[str, ...]
    """The tools that it needs installed, by their names in the manifest."""
    pod_overrides: PodOverrides
    """What it changes in every pod."""
    features: FeatureGates
    """What the scenario asks of its cluster and of it, beyond the defaults."""

    @abstractmethod
    def build(self) -> str:
        """Return what changes when the program does, or what it is configured with."""

    @abstractmethod
    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""

    @abstractmethod
    def release(self, place: Place, limits: ClientLimits | None) -> ArmRelease:
        """Return what to put on the cluster."""

    @contextmanager
    def running(self, cluster: Cluster, folder: Path, limits: ClientLimits | None) -> Iterator[RunningArm]:
        """Start it on a cluster and stop it at the end; on entry it serves.

        ``folder`` takes its configuration and logs. What it put on the cluster is gone afterwards, but for definitions
        that other arms may use.
        """
        folder.mkdir(parents=True, exist_ok=True)
        # One arm at a time is on a cluster: what is cut off tells no two apart.
        name = _NOT_IN_NAMES.sub("-", f"stowage-arm-{self.name.lower()}")[:LONGEST_NAME].strip("-")
        # Programs run in the folder: its path must be a full one.
        place = Place(cluster, name, folder.resolve())
        if cluster.release_location.containers and component_process(cluster.workdir, HOST_PODS) is None:
            start_host_pods(cluster.workdir, cluster.kubeconfig)
        asked = self.release(place, limits)
        for manifest in asked.manifests:
            for one in (manifest, *([manifest["spec"]["template"]] if manifest["kind"] == "Deployment" else ())):
                one["metadata"].setdefault("labels", {})[LABEL] = name
        (folder / "manifests.yaml").write_text(yaml.safe_dump_all(asked.manifests, sort_keys=False), "utf-8")
        ended, release = EndedContainers(cluster.workdir), Release(cluster, name, NAMESPACE)
        # What has ended so far is of others.
        ended.new()
        logs: dict[str, Path] = {}
        with cluster.api_client() as api:
            objects = Objects(api)
            _define(objects, asked.definitions)
            try:
                # What a killed comparison left would have other rights.
                remove_arms(objects)
                for manifest in asked.manifests:
                    objects.create(manifest)
                _await_ready(self.name, release, asked.manifests)
                logs = release.log_files()
                pids = tuple(pid for _, pid in sorted(release.process_ids().items()))
                yield RunningArm(self, pids, logs, asked.configuration, ended)
            finally:
                # A cluster that does not answer any more takes its objects along.
                with uninterrupted(), suppress(ApiUnreachableError):
                    logs = logs or release.log_files()
                    remove_arms(objects)
                    for kind in asked.kinds:
                        objects.delete_all(kind, asked.namespace)
                for log in logs.values():
                    for file in log.parent.glob(f"{log.name}*"):
                        shutil.copy2(file, folder)


@contextmanager
def ended_with(running: RunningArm) -> Iterator[None]:
    """End the waits of the block, which may be long, once a process of the arm has ended: an `ArmEndedError`."""
    running.check()
    with health.needing(running.check):
        yield


def install_arms(arms: Sequence[Arm], backend: Backend | None = None, scenarios: Sequence[Scenario] = ()) -> None:
    """Install what arms need, and clusters of a kind for scenarios, where one is named."""
    for minor in sorted({arm.minor for arm in arms}):
        tools = [tool for arm in arms if arm.minor == minor for tool in arm.tools]
        if backend is not None:
            tools += list_tools(backend, scenarios)
        install_needed(*tools, minor=minor, optimizer=SCHEDULER in tools)


def remove_arms(objects: Objects) -> None:
    """Remove every arm from a cluster, first its pods."""

    def of_arms(kind: str) -> list[dict[str, Any]]:
        there = objects.list_all(kind, "" if kind.startswith("Cluster") else NAMESPACE)
        return [one for one in there if LABEL in (one["metadata"].get("labels") or {})]

    def remove(kind: str) -> None:
        for one in of_arms(kind):
            objects.delete(kind, one["metadata"]["name"], namespace=one["metadata"].get("namespace", ""))

    remove("Deployment")
    wait_until(
        "the pods of arms to end", lambda: [one["metadata"]["name"] for one in of_arms("Pod")], lambda pods: not pods
    )
    for kind in _KINDS:
        remove(kind)


def _define(objects: Objects, definitions: Path | None) -> None:
    manifests = read_manifests(definitions, definitions) if definitions else ()
    for one in manifests:
        # There may be an older one.
        objects.create(one, or_keep=True)
        objects.patch(DEFINITION, one["metadata"]["name"], one)
    for one in manifests:
        objects.await_definition(one["metadata"]["name"], HANG_S)


def _await_ready(arm: str, release: Release, manifests: Sequence[Mapping[str, Any]]) -> None:
    """Return when an arm serves, on the loopback interface alone; a `StowageError` says why it does not."""

    def failure() -> str:
        """Return why a container does not start; a scheduler that has ended once is not waited for."""
        for pod in release.pods()[:1]:
            for one in pod.status.container_statuses or ():
                states = (one.state, one.last_state)
                for ended in (state.terminated for state in states if state and state.terminated):
                    log = release.log_files().get(one.name, Path())
                    return f"{one.name} ended with {ended.exit_code}; {_log_end(log)}"
                if one.state.waiting and one.state.waiting.reason == "CreateContainerError":
                    return str(one.state.waiting.message)
        return ""

    served = await_serving(release, READY_TIMEOUT_S, lambda: bool(failure()))
    why = failure() or ("" if served else f"it was not ready within {READY_TIMEOUT_S:g} s:\n{diagnose(release)}")
    if not why and not release.cluster.release_location.containers:
        (pod,) = (one["spec"]["template"]["spec"] for one in manifests if one["kind"] == "Deployment")
        ports: set[int] = set()
        for container in pod["containers"]:
            named = {port["name"]: port["containerPort"] for port in container.get("ports", ())}
            if get := container["startupProbe"].get("httpGet"):
                ports.add(named.get(get["port"], get["port"]))
        why = listening_issue(map(psutil.Process, release.process_ids().values()), ports)
    if why:
        raise StowageError(f"arm {arm} did not start: {why}")


def listening_issue(processes: Iterable[psutil.Process], ports: Collection[int]) -> str:
    """Return how others can reach some processes, or which port is not theirs; empty if all is well."""
    family = [one for process in processes for one in (process, *process.children(recursive=True))]
    addresses = [
        connection.laddr
        for process in family
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    for one in addresses:
        if not ip_address(one.ip).is_loopback:
            return f"it listens on {one.ip}:{one.port}, which others can reach; bind it to 127.0.0.1"
    # Whatever else listens there would be measured in its place.
    lacking = sorted(set(ports) - {one.port for one in addresses})
    return f"nothing of its own listens on port {lacking[0]}" if lacking else ""


def _log_end(log: Path) -> str:
    return "its log ends with:\n" + log_end(log, LOG_LINES)
