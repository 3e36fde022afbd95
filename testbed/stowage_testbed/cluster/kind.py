"""A cluster from kind: the control plane on one node, which is a container, beside nodes that are fake."""

import base64
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import yaml

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.child import Child
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    HOST_TAINT,
    KWOK,
    ReleaseLocation,
    await_state,
    component_failed,
    log_file,
    marked_environment,
    spawn_component,
    start_timeout,
    write_private,
)
from stowage_testbed.cluster.kwokctl_config import (
    AUDIT_POLICY,
    STAGES,
    ExtraArgs,
    arguments_of,
    fill_in,
    merged_arguments,
)
from stowage_testbed.cluster.listing import KIND_LABEL, Owner, kind_name, read_owner, write_owner
from stowage_testbed.cluster.ports import Ports, listens
from stowage_testbed.cluster.probes import ApiProbe
from stowage_testbed.images.docker_engine import DockerCommandError, check_engine, docker, image_id
from stowage_testbed.images.recipe import ImageMissingError, check_image, is_published, recipe_of, recipes
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.node import ready_of
from stowage_testbed.toolchain import tool_path


def render_config(name: str, image: str, api_port: int, audit_log: Path, extra_args: ExtraArgs) -> str:
    """Return the configuration of one cluster with one node, with ``extra_args`` on top of the testbed's own.

    The ``audit_log`` exists, in a folder of logs alone.
    """
    arguments = merged_arguments(arguments_of("both", "kind"), extra_args)
    components = {"api_server": API_SERVER, "controller": CONTROLLER_MANAGER, "etcd": ETCD}
    return fill_in(
        "kind-config",
        name=name,
        image=image,
        api_port=api_port,
        audit_policy=str(AUDIT_POLICY),
        logs=str(audit_log.parent),
        **{
            f"{word}_arguments": [{"name": key, "value": value} for key, value in arguments[component].items()]
            for word, component in components.items()
        },
    )


def node_image(minor: str) -> str:
    """Return kind's node of a minor that the engine has, ours or kind's; raises `ImageMissingError` without one."""
    recipe = recipe_of("node", minor)
    if image_id(recipe.reference):
        return recipe.reference
    if is_published(recipe):
        return recipe.published
    raise ImageMissingError(recipe)


_SCHEDULER_MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml"
_SCHEDULER = "kube-scheduler"
_HOSTNAME = "kubernetes.io/hostname"


def prepare_node(objects: Objects, node: str, timeout_s: float) -> str:
    """Prepare a node once it is Ready, and return its address.

    Workload is kept off it. What kind brings by itself stays on it, or goes: pods of DaemonSets would be made for every
    fake node, and those that nobody needs here would be placed there by the scheduler under test. kind's own scheduler
    goes last.
    """

    def ready() -> str:
        return next((ready_of(one) for one in objects.list_all("Node") if name_of(one) == node), "there is none")

    def scheduler_pods() -> list[str]:
        pods = [one["metadata"] for one in objects.list_all("Pod", "kube-system")]
        return [one["name"] for one in pods if (one.get("labels") or {}).get("component") == _SCHEDULER]

    wait_until(f"node {node} to be Ready", ready, lambda seen: seen == "True", timeout_s=timeout_s)
    taint = {"key": HOST_TAINT, "effect": "NoSchedule"}
    objects.patch("Node", node, {"spec": {"taints": [taint]}})
    pinned = {"spec": {"template": {"spec": {"nodeSelector": {_HOSTNAME: node}}}}}
    for one in objects.list_all("DaemonSet"):
        meta = one["metadata"]
        objects.patch("DaemonSet", meta["name"], pinned, namespace=meta["namespace"])
    for one in objects.list_all("Deployment"):
        meta = one["metadata"]
        objects.delete("Deployment", meta["name"], namespace=meta["namespace"])
    docker("exec", node, "rm", "--force", _SCHEDULER_MANIFEST)
    wait_until("kind's own scheduler to end", scheduler_pods, lambda names: not names, timeout_s=timeout_s)
    addresses = objects.read("Node", node)["status"]["addresses"]
    return next(str(one["address"]) for one in addresses if one["type"] == "InternalIP")


KIND = "kind"
"""The tool, and the name of its log."""

_POLL_S = 0.1
_TAIL_LINES = 3
_T = TypeVar("_T")
_API_SERVER_PORT = 6443


class KindCluster(Cluster):
    """kubeadm's control plane on kind's node, where the release's pods are containers, and KWOK's nodes beside it."""

    backend = Backend.KIND

    @property
    def release_location(self) -> ReleaseLocation:
        """Where the pods of a Helm release run."""
        owner = read_owner(self.workdir)
        address = owner.node_address if owner else ""
        url = f"https://{address}:{_API_SERVER_PORT}"
        return ReleaseLocation(self._node, containers=True, api_server_url=url)

    @property
    def _node(self) -> str:
        return f"{kind_name(self.name)}-control-plane"

    def _check(self) -> None:
        check_engine()

    def _start(self, owner: Owner) -> None:
        # In a checkout of their sources and no others.
        release = [one for one in recipes(self.minor).values() if one.group == "release"]
        for recipe in release:
            check_image(recipe)
        # The API server adds to a file that is there, which is then the user's own.
        self.audit_log.touch()
        config = self.workdir / "kind.yaml"
        image, port = node_image(self.minor), owner.ports.kube_apiserver
        arguments = self.features.arguments(self.minor)
        config.write_text(render_config(kind_name(self.name), image, port, self.audit_log, arguments), encoding="utf-8")
        create_network(self.name)
        self._kind(["create", "cluster", "--config", str(config), "--retain", "--kubeconfig", str(self.kubeconfig)])
        write_certificates(self.kubeconfig, self.workdir)
        self._kind(["load", "docker-image", *(recipe.reference for recipe in release)])
        # KWOK simulates every node that has its annotation.
        kwok = arguments_of(
            "both", "beside kind", workdir=self.workdir, stages=STAGES, port=owner.ports.kwok_controller
        )
        spawn_component(self.workdir, KWOK, [str(tool_path("kwok"))], kwok[KWOK])
        self._settle(owner.ports)
        with self.api_client() as api:
            address = prepare_node(Objects(api), self._node, self._timeout_s)
        write_owner(self.workdir, replace(owner, node_address=address))

    def _settle(self, ports: Ports) -> None:
        """Wait until API server, controllers and KWOK are at work."""
        probe = ApiProbe(self.workdir, ports.kube_apiserver)
        self._wait("the API server", probe.ready, lambda said: said == "ok")
        self._wait("service accounts", probe.namespaces_without_account, lambda lacking: not lacking)

        def kwok_listens() -> bool:
            self._check_node()
            return listens(ports.kwok_controller)

        await_state(self.workdir, "KWOK", kwok_listens, bool, of=KWOK, timeout_s=self._timeout_s, poll_s=_POLL_S)

    def _wait(self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool]) -> None:
        def seen() -> _T:
            self._check_node()
            return look()

        try:
            wait_until(what, seen, holds, timeout_s=self._timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            log = self._write_log("--tail", str(_TAIL_LINES))
            raise start_timeout(self.workdir, error, self._node, log) from error

    def _check_node(self) -> None:
        state = json.loads(docker("inspect", "--format", "{{json .State}}", self._node))
        # Docker may be about to start it again.
        if state["Restarting"] or state["Status"] in {"exited", "dead"}:
            self._write_log()
            raise component_failed(self.workdir, KIND)

    def _write_log(self, *options: str) -> Path:
        """Write what the node's container has logged to kind's log."""
        try:
            said = docker("logs", *options, self._node, merge=True)
        except DockerCommandError as error:
            said = error.said
        log = log_file(self.workdir, KIND)
        log.write_text(said, encoding="utf-8")
        return log

    def _kind(self, arguments: Sequence[str]) -> None:
        """Run kind to its end, kept away from the user's own files; its nodes join a network that exists."""
        name = kind_name(self.name)
        kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        kept |= {"HOME": str(self.workdir), "KIND_EXPERIMENTAL_DOCKER_NETWORK": name}
        command = [str(tool_path(KIND)), *arguments, "--name", name]
        with Child(command, log_file(self.workdir, KIND), marked_environment(self.workdir, kept)) as kind:
            if kind.wait():
                raise component_failed(self.workdir, KIND)


def create_network(cluster: str) -> None:
    """Create the network that kind would create, bound to loopback: nothing is offered to other machines."""
    name = kind_name(cluster)
    label = f"--label={KIND_LABEL}={name}"
    loopback = "--opt=com.docker.network.bridge.host_binding_ipv4=127.0.0.1"
    docker("network", "create", label, loopback, name)


def write_certificates(kubeconfig: Path, workdir: Path) -> None:
    """Write the administrator's certificates into the folder, as kwokctl does."""
    content = yaml.safe_load(kubeconfig.read_text("utf-8"))
    data = {**content["clusters"][0]["cluster"], **content["users"][0]["user"]}
    names = {"ca.crt": "certificate-authority", "admin.crt": "client-certificate", "admin.key": "client-key"}
    pki = workdir / "pki"
    pki.mkdir(mode=0o700)
    for file, name in names.items():
        write_private(pki / file, base64.b64decode(data[f"{name}-data"]))
