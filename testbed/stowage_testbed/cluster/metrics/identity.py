"""How metrics-server proves who it is: by its account as client, by TLS as server."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trustme

from stowage_testbed.cluster.components import METRICS_SERVER
from stowage_testbed.cluster.service_account import (
    write_account_kubeconfig,
    write_private,
)

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
