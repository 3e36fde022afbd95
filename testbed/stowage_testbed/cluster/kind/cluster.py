"""A cluster from kind: the control plane on one node, which is a container."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import KWOK, component_failed, log_file, spawn_component
from stowage_testbed.cluster.host_pods import ReleaseLocation
from stowage_testbed.cluster.kind.config import render_config
from stowage_testbed.cluster.kind.containers import create_network, kind_name
from stowage_testbed.cluster.kind.images import node_image, release_images
from stowage_testbed.cluster.kind.node import prepare_node
from stowage_testbed.cluster.kind.startup import KIND, NodeStartup
from stowage_testbed.cluster.kwokctl_config import FAKE_NODES_ONLY, STAGES
from stowage_testbed.cluster.owner import Owner, read_owner, write_owner
from stowage_testbed.cluster.ports import LOOPBACK, Ports
from stowage_testbed.cluster.processes import marked_environment
from stowage_testbed.cluster.service_account import write_private
from stowage_testbed.images.docker_engine import check_engine
from stowage_testbed.toolchain import tool_path

LEASE_S = 200
"""As kwokctl says: a fake node does not die, and each renewal is a request."""

_API_SERVER_PORT = 6443


class KindCluster(Cluster):
    """kubeadm's control plane on kind's node, and KWOK's nodes beside it.

    The release's pods run as containers of their images on kind's node; the workload lands on fake nodes.
    """

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
        return f"{self._kind_name}-control-plane"

    @property
    def _kind_name(self) -> str:
        return kind_name(self.name)

    def _check(self) -> None:
        check_engine()

    def _start(self, owner: Owner) -> None:
        images = release_images(self.minor)
        self._create(node_image(self.minor), owner)
        startup = NodeStartup(self.workdir, self._node, owner.ports, self._timeout_s)
        self._kind(["load", "docker-image", *images])
        _start_kwok(self.workdir, self.kubeconfig, owner.ports)
        startup.settle(ApiProbe.of(self.workdir, owner.ports.kube_apiserver))
        with self.api_client() as api:
            address = prepare_node(Objects(api), self._node, self._timeout_s)
        write_owner(self.workdir, replace(owner, node_address=address))

    def _create(self, image: str, owner: Owner) -> None:
        # The API server adds to a file that is there, which is then the user's own.
        self.audit_log.touch()
        config = self.workdir / "kind.yaml"
        port = owner.ports.kube_apiserver
        text = render_config(self._kind_name, image, port, self.audit_log)
        config.write_text(text, encoding="utf-8")
        create_network(self.name)
        create = ["create", "cluster", "--config", str(config), "--retain"]
        self._kind([*create, "--kubeconfig", str(self.kubeconfig)])
        write_certificates(self.kubeconfig, self.workdir)

    def _kind(self, arguments: Sequence[str]) -> None:
        _run_kind(self.workdir, self._kind_name, [*arguments, "--name", self._kind_name])


def _run_kind(workdir: Path, network: str, arguments: Sequence[str]) -> None:
    """Run kind for the cluster in ``workdir`` to its end; its output goes to its log.

    It is kept away from the user's own files; its nodes join ``network``, which exists.
    """
    kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    kept |= {"HOME": str(workdir), "KIND_EXPERIMENTAL_DOCKER_NETWORK": network}
    with log_file(workdir, KIND).open("ab") as output:
        done = subprocess.run(
            [str(tool_path(KIND)), *arguments],
            env=marked_environment(workdir, kept),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # An interrupt from the keyboard is ours to handle, not its.
            start_new_session=True,
            check=False,
        )
    if done.returncode:
        raise component_failed(workdir, KIND)


def _start_kwok(workdir: Path, kubeconfig: Path, ports: Ports) -> None:
    """Start KWOK, which simulates every node that has its annotation."""
    arguments = {
        **FAKE_NODES_ONLY,
        "kubeconfig": str(kubeconfig),
        "config": str(STAGES),
        "server-address": f"{LOOPBACK}:{ports.kwok_controller}",
        "node-ip": LOOPBACK,
        "node-name": "kwok-controller",
        "node-port": str(ports.kwok_controller),
        "node-lease-duration-seconds": str(LEASE_S),
    }
    options = [f"--{name}={value}" for name, value in arguments.items()]
    spawn_component(workdir, KWOK, [str(tool_path("kwok")), *options])


def write_certificates(kubeconfig: Path, workdir: Path) -> None:
    """Write the administrator's certificates into the folder, as kwokctl does."""
    content = yaml.safe_load(kubeconfig.read_text("utf-8"))
    (cluster,), (user,) = content["clusters"], content["users"]
    pki = workdir / "pki"
    pki.mkdir(mode=0o700)
    for name, data in (
        ("ca.crt", cluster["cluster"]["certificate-authority-data"]),
        ("admin.crt", user["user"]["client-certificate-data"]),
        ("admin.key", user["user"]["client-key-data"]),
    ):
        write_private(pki / name, base64.b64decode(data))
