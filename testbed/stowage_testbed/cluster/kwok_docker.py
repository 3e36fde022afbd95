"""A cluster from kwokctl's docker runtime: each part in a container of its own."""

from __future__ import annotations

from functools import partial

from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.components import API_SERVER, CONTROL_PLANE, KWOK
from stowage_testbed.cluster.containers import create_network, project
from stowage_testbed.cluster.docker.containers import Container
from stowage_testbed.cluster.docker.images import control_plane_images
from stowage_testbed.cluster.docker.startup import ContainerStartup
from stowage_testbed.cluster.folder_cluster import FolderCluster
from stowage_testbed.cluster.host_pods import start_host_pods
from stowage_testbed.cluster.kwokctl import KWOKCTL, start_kwokctl
from stowage_testbed.cluster.kwokctl_config import (
    LOGS_INSIDE,
    config_file,
    docker_options,
    write_config,
)
from stowage_testbed.cluster.owner import Owner
from stowage_testbed.cluster.ports import listens
from stowage_testbed.docker.engine import check_engine, docker


class KwokDockerCluster(FolderCluster):
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
        options = docker_options(owner.ports, control_plane_images())
        log = self.audit_log
        inside = {API_SERVER: {"audit-log-path": f"{LOGS_INSIDE}/{log.name}"}}
        folders = {API_SERVER: {log.parent: LOGS_INSIDE}}
        write_config(self.workdir, options, {}, inside, folders)
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
        kwokctl = start_kwokctl(self.workdir, config_file(self.workdir), create)
        ask = partial(ApiProbe.of, self.workdir, owner.ports.kube_apiserver)

        def probe() -> ApiProbe:
            if kwokctl.poll():
                raise startup.program_failure(KWOKCTL)
            return ask()

        try:
            return startup.await_api(probe)
        finally:
            # Its work is done; it would only go on to ask whether all is ready.
            kwokctl.kill()
            kwokctl.wait()
