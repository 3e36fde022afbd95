"""A cluster from kwokctl's docker runtime: each part in a container of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROL_PLANE,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    component_failed,
)
from stowage_testbed.cluster.container_startup import Container, ContainerStartup
from stowage_testbed.cluster.containers import create_network, project
from stowage_testbed.cluster.host_pods import start_host_pods
from stowage_testbed.cluster.kwokctl import KWOKCTL, running_kwokctl
from stowage_testbed.cluster.kwokctl_config import (
    LOGS_INSIDE,
    config_file,
    docker_options,
    render_config,
)
from stowage_testbed.cluster.owner import Owner
from stowage_testbed.cluster.ports import listens
from stowage_testbed.docker.engine import check_engine, docker, image_id
from stowage_testbed.images.docker_archive import FOLDER, write_program_archive
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import load_manifest

_TOOLS = {
    ETCD: "etcd",
    API_SERVER: "kube-apiserver",
    CONTROLLER_MANAGER: "kube-controller-manager",
    KWOK: "kwok",
}
# kwokctl names the command of all but this one.
_ENTRYPOINTS = {KWOK: [f"/{FOLDER}/kwok"]}


class KwokDockerCluster(Cluster):
    """etcd, kube-apiserver, kube-controller-manager and KWOK in containers.

    Their images are made of the tools' own binaries. The release's pods are processes
    of this machine, as with `KwokBinaryCluster`.

    Every user of this machine reaches etcd, which does not authenticate, at its
    container's address, and can so have a command run as this user.
    """

    backend = Backend.KWOK_DOCKER

    def _check(self) -> None:
        check_engine()

    def _start(self, owner: Owner) -> None:
        images = {part: _image(part, tool, self.minor) for part, tool in _TOOLS.items()}
        options = docker_options(owner.ports, images)
        log = self.audit_log
        inside = {API_SERVER: {"audit-log-path": f"{LOGS_INSIDE}/{log.name}"}}
        folders = {API_SERVER: {log.parent: LOGS_INSIDE}}
        config = config_file(self.workdir)
        text = render_config(self.minor, options, {}, inside, folders)
        config.write_text(text, "utf-8")
        create_network(self.backend, self.name)
        startup = ContainerStartup(
            self.workdir,
            [Container(self._container(part), part) for part in CONTROL_PLANE],
            owner.ports,
            self._timeout_s,
        )
        probe = self._create(startup, owner)
        start_host_pods(self.workdir, self.kubeconfig)
        if not listens(owner.ports.kwok_controller):
            # It looks for the API server once, then after 1, 3, 7 and 15 seconds.
            docker("restart", "--time", "0", self._container(KWOK))
        startup.settle(probe)

    def _container(self, component: str) -> str:
        return f"{project(self.backend, self.name)}-{component}"

    def _create(self, startup: ContainerStartup, owner: Owner) -> ApiProbe:
        create = ["create", "cluster", "--kubeconfig="]
        config = config_file(self.workdir)
        # Its work is done then; it would only go on to ask whether all is ready.
        with running_kwokctl(self.workdir, config, create) as kwokctl:

            def probe() -> ApiProbe:
                if kwokctl.poll():
                    raise component_failed(self.workdir, KWOKCTL)
                return ApiProbe.of(self.workdir, owner.ports.kube_apiserver)

            return startup.await_api(probe)


def _image(component: str, name: str, minor: str) -> str:
    """Return a component's image, made of its tool if the engine lacks it.

    So no registry is asked, and all backends run the very same programs.
    """
    tool = load_manifest().tool(name, minor)
    reference = f"stowage/{name}:{tool.version}-{tool_key(tool)}"
    if not image_id(reference):
        with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
            program = tool_path(name, minor)
            entry = _ENTRYPOINTS.get(component, ())
            write_program_archive(Path(archive.name), reference, program, entry)
            docker("load", "--quiet", "--input", archive.name)
    return reference
