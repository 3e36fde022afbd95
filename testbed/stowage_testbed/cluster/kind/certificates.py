"""The administrator's certificates, out of the kubeconfig that kind writes."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from stowage_testbed.cluster.service_account import write_private


def write_certificates(kubeconfig: Path, workdir: Path) -> None:
    """Write them into files of the cluster's folder, as kwokctl does."""
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
