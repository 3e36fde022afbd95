"""A cluster from kind: the control plane on one node, which is a container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.containers import create_network, project
from stowage_testbed.cluster.docker.containers import Container
from stowage_testbed.cluster.docker.startup import ContainerStartup
from stowage_testbed.cluster.folder_cluster import FolderCluster
from stowage_testbed.cluster.kind.certificates import write_certificates
from stowage_testbed.cluster.kind.command import KIND, run_kind
from stowage_testbed.cluster.kind.config import render_config
from stowage_testbed.cluster.kind.kwok_process import start_kwok
from stowage_testbed.cluster.kind.node_image import node_image
from stowage_testbed.cluster.kind.release_images import ReleaseImages, release_images
from stowage_testbed.cluster.owner import Owner, read_owner, write_owner
from stowage_testbed.cluster.release_location import ReleaseLocation
from stowage_testbed.docker.engine import check_engine

_API_SERVER_PORT = 6443


class KindCluster(FolderCluster):
    """kubeadm's control plane on kind's node, and KWOK's nodes beside it.

    The release's pods run as containers of their images on kind's node; the workload
    lands on fake nodes.
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
        return f"{self._project}-control-plane"

    @property
    def _project(self) -> str:
        return project(self.backend, self.name)

    def _check(self) -> None:
        check_engine()

    def _start(self, owner: Owner) -> None:
        images = release_images()
        self._create(node_image(), images, owner)
        node = Container(self._node, KIND)
        startup = ContainerStartup(self.workdir, [node], owner.ports, self._timeout_s)
        images.bring(self._node, self._kind)
        start_kwok(self.workdir, self.kubeconfig, owner.ports)
        port = owner.ports.kube_apiserver
        startup.settle(startup.await_api(lambda: ApiProbe.of(self.workdir, port)))
        self._prepare(owner)

    def _create(self, image: str, images: ReleaseImages, owner: Owner) -> None:
        # The API server adds to a file that is there, which is then the user's own.
        self.audit_log.touch()
        config = self.workdir / "kind.yaml"
        port = owner.ports.kube_apiserver
        text = render_config(
            self._project, image, port, self.audit_log, images.archives
        )
        config.write_text(text, encoding="utf-8")
        create_network(self.backend, self.name)
        create = ["create", "cluster", "--config", str(config), "--retain"]
        self._kind([*create, "--kubeconfig", str(self.kubeconfig)])
        write_certificates(self.kubeconfig, self.workdir)

    def _kind(self, arguments: Sequence[str]) -> None:
        run_kind(self.workdir, self._project, [*arguments, "--name", self._project])

    def _prepare(self, owner: Owner) -> None:
        # The client takes long to import, and only this kind of cluster needs it here.
        from stowage_testbed.cluster.kind.node import prepare_node  # noqa: PLC0415

        with self.api_client() as api:
            address = prepare_node(api, self._node, self._timeout_s)
        write_owner(self.workdir, replace(owner, node_address=address))
