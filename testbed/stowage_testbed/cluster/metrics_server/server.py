"""metrics-server as a process of the cluster, registered with the API server."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trustme

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.components import METRICS_SERVER, component_failed, has_ended, spawn_component
from stowage_testbed.cluster.host_pods import HOST_NODE
from stowage_testbed.cluster.kwok_binary import start_timeout
from stowage_testbed.cluster.metrics_server.objects import read_manifests
from stowage_testbed.cluster.ports import LOOPBACK, port_beside
from stowage_testbed.cluster.service_account import write_account_kubeconfig, write_private
from stowage_testbed.toolchain import tool_path

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

NAMESPACE = "kube-system"
HOST = f"{METRICS_SERVER}.{NAMESPACE}.svc"
"""The name that the API server expects in its certificate."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The files that metrics-server starts with.

    Its certificate is checked with ``ca_bundle`` (base64), whose key is gone.
    """

    kubeconfig: Path
    certificate: Path
    key: Path
    ca_bundle: str


def make_identity(api: ApiClient, admin: Path, folder: Path) -> Identity:
    """Write the files into a new ``folder``, readable by this user only.

    ``api`` is the client of an administrator, whose kubeconfig is ``admin``.
    """
    folder.mkdir(mode=0o700)
    authority = trustme.CA()
    issued = authority.issue_cert(HOST)
    identity = Identity(
        kubeconfig=folder / "kubeconfig.yaml",
        certificate=folder / "tls.crt",
        key=folder / "tls.key",
        ca_bundle=base64.b64encode(authority.cert_pem.bytes()).decode(),
    )
    write_private(identity.certificate, issued.cert_chain_pems[0].bytes())
    write_private(identity.key, issued.private_key_pem.bytes())
    write_account_kubeconfig(api, admin, NAMESPACE, METRICS_SERVER, identity.kubeconfig)
    return identity


_API_SERVICE = "v1beta1.metrics.k8s.io"


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """Starts metrics-server on one cluster.

    KWOK answers on ``kubelet_port`` for every fake node, and is scraped every ``resolution_s``: a new pod has a reading
    after its second scrape, or after its first if it is more than 10 s old then. The API server must have found
    metrics-server within ``timeout_s``.
    """

    workdir: Path
    kubelet_port: int
    resolution_s: int
    timeout_s: float

    def start(self, api: ApiClient, kubeconfig: Path) -> None:
        """Start it, and return when the API server serves ``metrics.k8s.io``.

        It has no values yet: that takes two scrapes of a pod.
        """
        binary = tool_path(METRICS_SERVER)
        port = port_beside(self.workdir.name)
        *account, registration = read_manifests("metrics-server")
        objects = Objects(api)
        for manifest in account:
            objects.create(manifest)
        identity = make_identity(api, kubeconfig, self.workdir / METRICS_SERVER)
        command = [str(binary), *self._arguments(identity, port)]
        spawn_component(self.workdir, METRICS_SERVER, command)
        objects.create(_registered(registration, identity, port))
        try:
            wait_until(
                "the API server to reach metrics-server",
                lambda: self._availability(objects),
                lambda seen: seen.startswith("True"),
                timeout_s=self.timeout_s,
            )
        except WaitTimeoutError as error:
            raise start_timeout(self.workdir, error, METRICS_SERVER) from error

    def _arguments(self, identity: Identity, port: int) -> list[str]:
        return [
            f"--bind-address={LOOPBACK}",
            f"--secure-port={port}",
            f"--tls-cert-file={identity.certificate}",
            f"--tls-private-key-file={identity.key}",
            f"--kubeconfig={identity.kubeconfig}",
            f"--authentication-kubeconfig={identity.kubeconfig}",
            f"--authorization-kubeconfig={identity.kubeconfig}",
            f"--metric-resolution={self.resolution_s}s",
            # Less than nine tenths of the resolution, or it would not start.
            f"--kubelet-request-timeout={self.resolution_s // 2}s",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-port={self.kubelet_port}",
            f"--kubelet-certificate-authority={self.workdir / 'pki' / 'ca.crt'}",
            # The node that the release's own pods run on has no kubelet.
            f"--node-selector=kubernetes.io/hostname!={HOST_NODE}",
        ]

    def _availability(self, objects: Objects) -> str:
        if has_ended(self.workdir, METRICS_SERVER):
            raise component_failed(self.workdir, METRICS_SERVER)
        status = objects.read("APIService", _API_SERVICE).get("status") or {}
        for one in status.get("conditions") or ():
            if one["type"] == "Available":
                return f"{one['status']}: {one['message']}"
        return "not looked at"


def _registered(registration: Manifest, identity: Identity, port: int) -> Manifest:
    spec = registration["spec"]
    service = {**spec["service"], "port": port}
    return {**registration, "spec": {**spec, "service": service, "caBundle": identity.ca_bundle}}
