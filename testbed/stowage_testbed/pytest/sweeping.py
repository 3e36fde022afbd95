"""Removing what a test brought, so that the next one finds the cluster as it was."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Any

from kubernetes.client import ApiClient

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import Kind, Kinds
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION

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

_AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_FEW = 20
"""Objects that are deleted one by one; more of them go by one request."""
_SHOWN = 5


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
        items = listed(api, kind)
        found += [_thing(kind, item) for item in items if not _is_kept(kind, item)]
    for kind in _chosen(kinds, IN_DEFAULT):
        items = listed(api, kind, DEFAULT_NAMESPACE)
        found += [_thing(kind, item) for item in items]
    return found


def listed(api: ApiClient, kind: Kind, namespace: str = "") -> list[dict[str, Any]]:
    """Return the metadata of all objects of a kind; none if it has gone meanwhile."""
    answer = ask(
        api, "GET", kind.path(namespace), f"list every {kind.name}", accept=METADATA, allowed={HTTPStatus.NOT_FOUND}
    )
    return [item["metadata"] for item in answer.get("items") or ()]


def sweep(api: ApiClient, kinds: Kinds, kept: Collection[str] = (), *, timeout_s: float = HANG_S) -> None:
    """Delete all that can be swept but what has these UIDs; return when it is gone.

    Raises
    ------
    WaitTimeoutError
        Something did not go: it has a finaliser that nothing removes; names it.
    """
    # The test may have brought the definition of a kind.
    kinds.look_again()
    doomed = [one for one in sweepable(api, kinds) if one.uid not in kept]
    namespaces = [one for one in doomed if one.kind.name == "Namespace"]
    for one in namespaces:
        _delete(api, one)
    for one in namespaces:
        _empty(api, kinds, one.name, timeout_s)
    for kind, group in groupby(doomed, lambda one: one.kind):
        if kind.name != "Namespace":
            _delete_all(api, kind, list(group), kept)
    if not doomed:
        return
    wait_until(
        "what the test brought to go",
        lambda: [one for one in sweepable(api, kinds) if one.uid not in kept],
        lambda left: not left,
        timeout_s=timeout_s,
    )


def _delete_all(api: ApiClient, kind: Kind, things: Sequence[Thing], kept: Collection[str]) -> None:
    there = {one.uid for one in things}
    stays = [item["name"] for item in listed(api, kind, things[0].namespace) if item["uid"] not in there]
    if "deletecollection" in kind.verbs and len(stays) <= _FEW < len(things):
        selector = ",".join(f"metadata.name!={name}" for name in stays)
        _delete_collection(api, kind, things[0].namespace, selector)
        return
    for one in things:
        _delete(api, one)


def _delete(api: ApiClient, one: Thing) -> None:
    ask(api, "DELETE", one.path, f"delete {one}", _AT_ONCE, allowed={HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})


def _delete_collection(api: ApiClient, kind: Kind, namespace: str, selector: str = "") -> bool:
    """Delete a namespace's objects of a kind, and return whether there were any."""
    answer = ask(
        api,
        "DELETE",
        kind.path(namespace),
        f"delete every {kind.name} of {namespace or 'the cluster'}",
        _AT_ONCE,
        allowed={HTTPStatus.NOT_FOUND},
        query=[("fieldSelector", selector)] if selector else (),
    )
    return bool(answer.get("items"))


def _empty(api: ApiClient, kinds: Kinds, namespace: str, timeout_s: float) -> None:
    """Do the namespace controller's work, which begins five seconds later.

    Nothing can be created in a namespace that is going. Once it is empty it is let go.
    """
    every = _of_namespaces(kinds)
    had = [kind for kind in every if _delete_collection(api, kind, namespace)]
    wait_until(
        f"the objects of {namespace} to go",
        lambda: list(_left(api, had, namespace)),
        lambda left: not left,
        timeout_s=timeout_s,
    )
    path = f"/api/v1/namespaces/{namespace}"
    there = ask(api, "GET", path, f"read Namespace {namespace}", allowed={HTTPStatus.NOT_FOUND})
    if there:
        ask(
            api,
            "PUT",
            f"{path}/finalize",
            f"let Namespace {namespace} go",
            {**there, "spec": {"finalizers": []}},
            allowed={HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT},
        )


def _of_namespaces(kinds: Kinds) -> Iterator[Kind]:
    for kind in kinds.all():
        # An event is served by two groups.
        twice = kind.group == "events.k8s.io"
        clearable = kind.namespaced and "deletecollection" in kind.verbs
        if clearable and kind.preferred and not twice:
            yield kind


def _left(api: ApiClient, kinds: Sequence[Kind], namespace: str) -> Iterator[str]:
    for kind in kinds:
        for item in listed(api, kind, namespace)[:_SHOWN]:
            yield f"{kind.name} {item['name']}"


def _chosen(kinds: Kinds, names: tuple[str, ...]) -> Iterator[Kind]:
    for name in names:
        for kind in kinds.all():
            if kind.name == name and kind.preferred and "delete" in kind.verbs:
                yield kind


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
