"""Nodes, controllers and what else pods depend on, as their watches tell of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import Kind
from stowage_testbed.hostpods.node import HOST_LABEL
from stowage_testbed.observe.change import JsonObject, name_of, namespace_of
from stowage_testbed.trace.format import Line, Node, NodeGone, NodeSeen, ObjectGone, ObjectSeen, Scaled
from stowage_testbed.trace.reducing import CONTROLLERS, reduce_node, reduce_object
from stowage_testbed.trace.reducing_pods import is_of_host

Key = tuple[str, str, str]
"""Kind, namespace and name."""

_BUILT_IN = "system-"
"""How the priority classes begin that every cluster has."""


class NodeRecording:
    """Makes lines of what is seen of nodes: of each change that matters."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def see(self, body: JsonObject, t: float) -> Iterator[Line]:
        """Take a node as it is now."""
        name, node = name_of(body), reduce_node(body)
        if HOST_LABEL in node.labels:
            # Of a testbed the one that is no fake node: the scheduler runs there.
            return
        if self._nodes.get(name) != node:
            self._nodes[name] = node
            yield NodeSeen(t=t, name=name, node=node)

    def go(self, name: str, t: float) -> Iterator[Line]:
        """Take a node's end."""
        if self._nodes.pop(name, None):
            yield NodeGone(t=t, name=name)

    def keep_only(self, names: set[str], t: float) -> Iterator[Line]:
        """Take a list of all nodes: those that it lacks went unseen."""
        for name in [one for one in self._nodes if one not in names]:
            yield from self.go(name, t)


class ObjectRecording:
    """Makes lines of what is seen of objects: of each change that matters."""

    def __init__(self) -> None:
        self._objects: dict[Key, Manifest] = {}

    def see(self, kind: Kind, body: JsonObject, t: float) -> Iterator[Line]:
        """Take an object as it is now."""
        key = (kind.name, namespace_of(body), name_of(body))
        before = self._objects.get(key)
        if before is None and not _is_recorded(kind.name, body):
            return
        # What is listed does not say what it is.
        header = {"apiVersion": kind.api_version, "kind": kind.name}
        now = reduce_object({**body, **header})
        self._objects[key] = now
        if before == now:
            return
        replicas = _read_new_replicas(before, now)
        if replicas is None:
            yield ObjectSeen(t=t, object=now)
        else:
            yield Scaled(t=t, kind=key[0], namespace=key[1], name=key[2], replicas=replicas)

    def go(self, key: Key, t: float) -> Iterator[Line]:
        """Take an object's end."""
        if self._objects.pop(key, None):
            yield ObjectGone(t=t, kind=key[0], namespace=key[1], name=key[2])

    def keep_only(self, kind: str, keys: set[Key], t: float) -> Iterator[Line]:
        """Take a list of all objects of a kind: those that it lacks went unseen."""
        for key in [one for one in self._objects if one[0] == kind and one not in keys]:
            yield from self.go(key, t)


def _is_recorded(kind: str, body: JsonObject) -> bool:
    """Return whether an object, which is new, is one that a replay has to make."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    match kind:
        case "PriorityClass":
            return not str(metadata["name"]).startswith(_BUILT_IN)
        case "Service":
            return bool(spec.get("selector"))
        case "Job" if _is_finished(body):
            return False
    template = spec.get("template") or {}
    if is_of_host(template.get("spec") or {}):
        return False
    makers = {*CONTROLLERS, "Pod"}
    if kind == "PersistentVolumeClaim":
        # Who deletes a StatefulSet may have its claims go as well: it owns them then.
        makers = {"Pod"}
    return not any(one["kind"] in makers for one in metadata.get("ownerReferences") or ())


def _is_finished(job: Mapping[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(one["type"] in {"Complete", "Failed"} and one["status"] == "True" for one in conditions)


def _read_new_replicas(before: Manifest | None, now: Manifest) -> int | None:
    """Return the replicas of an object of which nothing else has changed."""
    if before is None or now["kind"] not in CONTROLLERS:
        return None
    old, new = before.get("spec") or {}, now.get("spec") or {}
    replicas = new.get("replicas")
    if {**before, "spec": {**old, "replicas": replicas}} != now:
        return None
    return None if replicas is None else int(replicas)
