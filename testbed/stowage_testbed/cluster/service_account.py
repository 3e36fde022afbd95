"""Acting as a ServiceAccount from outside the cluster, with its rights and no more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from stowage_testbed.api.client import ask

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

LIFE_S = 7 * 24 * 3600
"""No cluster on fake nodes lives longer; a token dies with its account anyway."""


def write_account_kubeconfig(
    api: ApiClient, admin: Path, namespace: str, name: str, target: Path, *, token_file: Path | None = None
) -> None:
    """Write a kubeconfig that acts as a ServiceAccount, for this user's eyes only.

    Its cluster is that of the administrator's, ``admin``. The token is in it, or in a ``token_file`` that it names.
    """
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request = {"spec": {"expirationSeconds": LIFE_S}}
    answer = ask(api, "POST", path, f"give a token of ServiceAccount {name}", request)
    token = str(answer["status"]["token"])
    user = {"token": token}
    if token_file is not None:
        write_private(token_file, token.encode())
        user = {"tokenFile": str(token_file)}
    (cluster,) = yaml.safe_load(admin.read_text(encoding="utf-8"))["clusters"]
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": cluster["name"], "user": name}}],
        "current-context": name,
    }
    write_private(target, yaml.safe_dump(kubeconfig).encode())


def write_private(file: Path, content: bytes) -> None:
    """Write a new file that nobody else can read, not even for a moment."""
    file.touch(mode=0o600, exist_ok=False)
    file.write_bytes(content)
