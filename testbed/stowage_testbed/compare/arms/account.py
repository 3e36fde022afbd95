"""An arm's account at the API server, with the rights that the arm needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient, CoreV1Api, RbacAuthorizationV1Api
from urllib3.exceptions import HTTPError

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted

NAMESPACE = "kube-system"
"""Where schedulers live, and no pod of a scenario."""
LABEL = "stowage.dev/arm"
TOKEN_SECONDS = 24 * 3600
"""Longer than any comparison: the token is written once."""

Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rights:
    """Roles of the cluster that an arm is given, and rules beyond them."""

    cluster_roles: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


STOCK_SCHEDULER = ("system:kube-scheduler", "system:volume-scheduler")
"""The roles that Kubernetes itself gives its scheduler."""


KUBECONFIG = "kubeconfig.yaml"
"""The file in an arm's folder."""


@contextmanager
def account(
    cluster: Cluster,
    arm: str,
    rights: Rights,
    kubeconfig: Path,
    config_maps: Mapping[str, Mapping[str, str]],
) -> Iterator[None]:
    """Make an arm's account, kubeconfig and ConfigMaps; take them back at the end.

    Parameters
    ----------
    config_maps
        What an arm reads from the cluster, by name.
    """
    # Results are kept and handed on; a cluster's folder goes with it.
    token = cluster.workdir / f"arm-{arm}.token"
    with cluster.api_client() as api:
        try:
            # What a killed comparison left would have other rights.
            _forget(api, arm)
            _create(api, arm, rights, config_maps)
            _write_private(token, _token(api, arm))
            content = _kubeconfig(cluster.kubeconfig, token)
            _write_private(kubeconfig, yaml.safe_dump(content))
            yield
        finally:
            with uninterrupted():
                for file in (kubeconfig, token):
                    file.unlink(missing_ok=True)
                # A cluster that does not answer any more takes its objects along.
                with suppress(HTTPError):
                    _forget(api, arm)


def _object_name(arm: str) -> str:
    return f"stowage-arm-{arm}"


def _metadata(arm: str, name: str = "") -> dict[str, Any]:
    """Return the metadata by which an arm's object is found again."""
    return {"name": name or _object_name(arm), "labels": {LABEL: arm}}


def _forget(api: ApiClient, arm: str) -> None:
    """Delete every object that was made for an arm; no error if there is none."""
    core: Any = CoreV1Api(api)
    rbac: Any = RbacAuthorizationV1Api(api)
    selected = {"label_selector": f"{LABEL}={arm}"}
    rbac.delete_collection_cluster_role_binding(**selected)
    rbac.delete_collection_cluster_role(**selected)
    core.delete_collection_namespaced_config_map(NAMESPACE, **selected)
    core.delete_collection_namespaced_service_account(NAMESPACE, **selected)


def _create(
    api: ApiClient,
    arm: str,
    rights: Rights,
    config_maps: Mapping[str, Mapping[str, str]],
) -> None:
    # The client's own types want models where it takes plain objects.
    core: Any = CoreV1Api(api)
    rbac: Any = RbacAuthorizationV1Api(api)
    core.create_namespaced_service_account(NAMESPACE, {"metadata": _metadata(arm)})
    roles = list(rights.cluster_roles)
    if rights.rules:
        own = {"metadata": _metadata(arm), "rules": list(rights.rules)}
        rbac.create_cluster_role(own)
        roles.append(_object_name(arm))
    subject = {
        "kind": "ServiceAccount",
        "name": _object_name(arm),
        "namespace": NAMESPACE,
    }
    for role in roles:
        binding = {
            "metadata": _metadata(arm, f"{_object_name(arm)}:{role}"),
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [subject],
        }
        rbac.create_cluster_role_binding(binding)
    for name, data in config_maps.items():
        body = {"metadata": _metadata(arm, name), "data": dict(data)}
        core.create_namespaced_config_map(NAMESPACE, body)


def _token(api: ApiClient, arm: str) -> str:
    core: Any = CoreV1Api(api)
    request = {"spec": {"expirationSeconds": TOKEN_SECONDS}}
    answer = core.create_namespaced_service_account_token(
        _object_name(arm), NAMESPACE, request
    )
    return str(answer.status.token)


def _kubeconfig(admin: Path, token: Path) -> dict[str, Any]:
    """Return the administrator's kubeconfig with another user in it."""
    (entry,) = yaml.safe_load(admin.read_text("utf-8"))["clusters"]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [entry],
        "users": [{"name": "arm", "user": {"tokenFile": str(token)}}],
        "contexts": [
            {"name": "arm", "context": {"cluster": entry["name"], "user": "arm"}}
        ],
        "current-context": "arm",
    }


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(text, "utf-8")
