"""What is on a cluster that a test may have brought: read before it and after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from kubernetes.client import ApiClient

from stowage_testbed.api_client import ask
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.pytest.kinds import Kind, Kinds

RELEASE_NAMESPACE = "stowage-system"
DEFAULT_NAMESPACE = "default"

METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Thousands of nodes are read before and after every test; their status is not needed.
"""

CLUSTER_WIDE = ("PackingPlan", "Reservation", "PriorityClass", "Node", "Namespace")
"""Kinds that are swept, in the order in which they go."""

CONTROLLERS = ("CronJob", "Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
IN_DEFAULT = (*CONTROLLERS, "Pod", "PodDisruptionBudget")
"""Kinds that are swept in the namespace `default`; controllers go before their pods."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One object."""

    kind: Kind
    uid: str
    name: str
    namespace: str = ""

    @property
    def path(self) -> str:
        """Its path in the API."""
        return self.kind.path(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind.name} {'/'.join(filter(None, (self.namespace, self.name)))}"


def sweepable(api: ApiClient, kinds: Kinds) -> list[Thing]:
    """Return every object that would go if a test had brought it."""
    found: list[Thing] = []
    for kind in _chosen(kinds, CLUSTER_WIDE):
        found += [_thing(kind, item) for item in _sweepable_items(api, kind)]
    for kind in _chosen(kinds, IN_DEFAULT):
        items = listed(api, kind, DEFAULT_NAMESPACE)
        found += [_thing(kind, item) for item in items]
    return found


def listed(api: ApiClient, kind: Kind, namespace: str = "") -> list[dict[str, Any]]:
    """Return the metadata of all objects of a kind; none if it has gone meanwhile."""
    answer = ask(
        api,
        "GET",
        kind.path(namespace),
        f"list every {kind.name}",
        accept=METADATA,
        allowed={HTTPStatus.NOT_FOUND},
    )
    return [item["metadata"] for item in answer.get("items") or ()]


def _chosen(kinds: Kinds, names: tuple[str, ...]) -> Iterator[Kind]:
    for name in names:
        for kind in kinds.all():
            if kind.name == name and kind.preferred and "delete" in kind.verbs:
                yield kind


def _sweepable_items(api: ApiClient, kind: Kind) -> list[dict[str, Any]]:
    return [item for item in listed(api, kind) if not _is_kept(kind, item)]


def _is_kept(kind: Kind, item: dict[str, Any]) -> bool:
    name: str = item["name"]
    match kind.name:
        case "Namespace":
            ours = name in {DEFAULT_NAMESPACE, RELEASE_NAMESPACE}
            return ours or name.startswith("kube-")
        case "Node":
            return FAKE_NODE_ANNOTATION not in (item.get("annotations") or {})
        case "PriorityClass":
            return name.startswith("system-")
    return False


def _thing(kind: Kind, item: dict[str, Any]) -> Thing:
    return Thing(kind, item["uid"], item["name"], item.get("namespace", ""))
