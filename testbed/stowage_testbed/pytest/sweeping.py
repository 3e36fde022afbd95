"""Removing what a test brought, so that the next one finds the cluster as it was."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Any

from kubernetes.client import ApiClient

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import Kind, Kinds
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION

RELEASE_NAMESPACE = "stowage-system"
DEFAULT_NAMESPACE = "default"

METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Thousands of nodes are read before and after every test; their status is not needed."""

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
class ObjectRef:
    """One object."""

    kind: Kind
    uid: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind.name} {'/'.join(filter(None, (self.namespace, self.name)))}"


def sweepable(api: ApiClient, kinds: Kinds) -> list[ObjectRef]:
    """Return every object that would go if a test had brought it, in the order in which they go."""
    wanted = [*((name, "") for name in CLUSTER_WIDE), *((name, DEFAULT_NAMESPACE) for name in IN_DEFAULT)]
    return [
        ObjectRef(kind, item["uid"], item["name"], item.get("namespace", ""))
        for name, namespace in wanted
        for kind in kinds.all()
        if kind.name == name and kind.preferred and "delete" in kind.verbs
        for item in listed(api, kind, namespace)
        if namespace or not _stays(kind, item)
    ]


def _stays(kind: Kind, item: dict[str, Any]) -> bool:
    name: str = item["name"]
    match kind.name:
        case "Namespace":
            return name in {DEFAULT_NAMESPACE, RELEASE_NAMESPACE} or name.startswith("kube-")
        case "Node":
            return FAKE_NODE_ANNOTATION not in (item.get("annotations") or {})
        case "PriorityClass":
            return name.startswith("system-")
    return False


def listed(api: ApiClient, kind: Kind, namespace: str = "") -> list[dict[str, Any]]:
    """Return the metadata of all objects of a kind; none if it has gone meanwhile."""
    what, gone = f"list every {kind.name}", {HTTPStatus.NOT_FOUND}
    answer = ask(api, "GET", kind.path(namespace), what, accept=METADATA, allowed=gone)
    return [item["metadata"] for item in answer.get("items") or ()]


def sweep(api: ApiClient, kinds: Kinds, keep_uids: Collection[str] = ()) -> None:
    """Delete all that can be swept but what has these UIDs; return when it is gone.

    It is a WaitTimeoutError, which names it, if something does not go: it has a finaliser that nothing removes.
    """
    # The test may have brought the definition of a kind.
    kinds.look_again()
    brought = [one for one in sweepable(api, kinds) if one.uid not in keep_uids]
    namespaces = [one for one in brought if one.kind.name == "Namespace"]
    for one in namespaces:
        _delete(api, one)
    for one in namespaces:
        _empty(api, kinds, one.name)
    for kind, group in groupby(brought, lambda one: one.kind):
        if kind.name != "Namespace":
            _delete_all(api, kind, list(group))
    if brought:
        wait_until(
            "what the test brought to go",
            lambda: [one for one in sweepable(api, kinds) if one.uid not in keep_uids],
            lambda left: not left,
        )


def _delete_all(api: ApiClient, kind: Kind, things: Sequence[ObjectRef]) -> None:
    there, namespace = {one.uid for one in things}, things[0].namespace
    stays = [item["name"] for item in listed(api, kind, namespace) if item["uid"] not in there]
    if "deletecollection" in kind.verbs and len(stays) <= _FEW < len(things):
        _delete_collection(api, kind, namespace, ",".join(f"metadata.name!={name}" for name in stays))
        return
    for one in things:
        _delete(api, one)


def _delete(api: ApiClient, one: ObjectRef) -> None:
    gone = {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}
    ask(api, "DELETE", one.kind.path(one.namespace, one.name), f"delete {one}", _AT_ONCE, allowed=gone)


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


def _empty(api: ApiClient, kinds: Kinds, namespace: str) -> None:
    """Do the namespace controller's work, which begins five seconds later.

    Nothing can be created in a namespace that is going. Once it is empty it is let go.
    """
    # Nor may a pod that waits be given the room of the others, as at the end of a scenario (`run.environment.clear`).
    _delete_collection(api, kinds.find("Pod"), namespace, "spec.nodeName=")
    had = [
        kind
        for kind in kinds.all()
        # An event is served by two groups.
        if kind.namespaced and "deletecollection" in kind.verbs and kind.preferred and kind.group != "events.k8s.io"
        if _delete_collection(api, kind, namespace)
    ]
    wait_until(
        f"the objects of {namespace} to go",
        lambda: [f"{kind.name} {item['name']}" for kind in had for item in listed(api, kind, namespace)[:_SHOWN]],
        lambda left: not left,
    )
    path, what, gone = f"/api/v1/namespaces/{namespace}", f"Namespace {namespace}", {HTTPStatus.NOT_FOUND}
    if there := ask(api, "GET", path, f"read {what}", allowed=gone):
        body = {**there, "spec": {"finalizers": []}}
        ask(api, "PUT", f"{path}/finalize", f"let {what} go", body, allowed={*gone, HTTPStatus.CONFLICT})
