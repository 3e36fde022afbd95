"""What an arm has on the cluster while it serves: its account with its rights, and custom resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from stowage_testbed.api.client import ApiUnreachableError, Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.manifests import read_manifests
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.cluster.service_account import write_account_kubeconfig

NAMESPACE = "kube-system"
"""Where schedulers live, and no pod of a scenario."""
LABEL = "stowage.dev/arm"
KUBECONFIG = "kubeconfig.yaml"
"""The file in an arm's folder."""

STOCK_SCHEDULER = ("system:kube-scheduler", "system:volume-scheduler")
"""The roles that Kubernetes itself gives its scheduler."""

Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rights:
    """Roles of the cluster that an arm is given, and rules beyond them."""

    cluster_roles: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    @classmethod
    def of_file(cls, file: Path) -> Self:
        """Return a stock scheduler's rights with the rules of the first ClusterRole in a project's file."""
        documents = yaml.safe_load_all(file.read_text("utf-8"))
        return cls(
            STOCK_SCHEDULER, next(tuple(one["rules"]) for one in documents if one and one["kind"] == "ClusterRole")
        )


@contextmanager
def account(
    cluster: Cluster, arm: str, rights: Rights, kubeconfig: Path, config_maps: Mapping[str, Mapping[str, str]]
) -> Iterator[None]:
    """Make an arm's account, kubeconfig and ConfigMaps; take them back at the end."""
    # Results are kept and handed on; a cluster's folder goes with it.
    token = cluster.workdir / f"arm-{arm}.token"
    with cluster.api_client() as api:
        objects = Objects(api)
        try:
            # What a killed comparison left would have other rights.
            _forget(objects, arm, kubeconfig, token)
            for manifest in _manifests(arm, rights, config_maps):
                manifest["metadata"]["labels"] = {LABEL: arm}
                objects.create(manifest)
            write_account_kubeconfig(
                api, cluster.kubeconfig, NAMESPACE, f"stowage-arm-{arm}", kubeconfig, token_file=token
            )
            yield
        finally:
            # A cluster that does not answer any more takes its objects along.
            with uninterrupted(), suppress(ApiUnreachableError):
                _forget(objects, arm, kubeconfig, token)


def _forget(objects: Objects, arm: str, *files: Path) -> None:
    """Delete all that was made for an arm; no error if there is none."""
    for file in files:
        file.unlink(missing_ok=True)
    for kind, namespace in (
        ("ClusterRoleBinding", ""),
        ("ClusterRole", ""),
        ("ConfigMap", NAMESPACE),
        ("ServiceAccount", NAMESPACE),
    ):
        for one in objects.list_all(kind, namespace):
            metadata = one["metadata"]
            if (metadata.get("labels") or {}).get(LABEL) == arm:
                objects.delete(kind, metadata["name"], namespace=namespace)


def _manifests(arm: str, rights: Rights, config_maps: Mapping[str, Mapping[str, str]]) -> Iterator[Manifest]:
    name, group = f"stowage-arm-{arm}", "rbac.authorization.k8s.io"
    yield make_manifest("v1", "ServiceAccount", name, NAMESPACE)
    roles = list(rights.cluster_roles)
    if rights.rules:
        rules = list(rights.rules)
        yield make_manifest(f"{group}/v1", "ClusterRole", name, rules=rules)
        roles.append(name)
    account = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    for role in roles:
        yield make_manifest(
            f"{group}/v1",
            "ClusterRoleBinding",
            f"{name}:{role}",
            roleRef={"apiGroup": group, "kind": "ClusterRole", "name": role},
            subjects=[account],
        )
    for config_map, data in config_maps.items():
        yield make_manifest("v1", "ConfigMap", config_map, NAMESPACE, data=dict(data))


@contextmanager
def custom_resources(cluster: Cluster, definitions: Path, *kinds: str, namespace: str = "") -> Iterator[None]:
    """Apply a folder's definitions, without which an arm cannot start; at the end, delete the objects of some kinds.

    The definitions stay on the cluster, as other arms may use them.
    """
    with cluster.api_client() as api:
        objects = Objects(api)
        applied = read_manifests(definitions, definitions)
        for one in applied:
            # There may be an older one.
            objects.create(one, or_keep=True)
            objects.patch(DEFINITION, one["metadata"]["name"], one)
        for one in applied:
            objects.await_definition(one["metadata"]["name"], HANG_S)
    try:
        yield
    finally:
        # A cluster that does not answer any more takes its objects along.
        with uninterrupted(), suppress(ApiUnreachableError), cluster.api_client() as api:
            for kind in kinds:
                Objects(api).delete_all(kind, namespace)
