"""All that is known of a cluster: its objects, without what no plugin reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.observe.pod_body import FINISHED
from stowage_testbed.simulate import Remark
from stowage_testbed.toolchain.minors import nearest_minor

Manifest = Mapping[str, Any]

_OBJECTS = yaml.safe_load((Path(__file__).parent / "objects.yaml").read_text(encoding="utf-8"))
FURTHER: Mapping[str, str] = _OBJECTS["kinds"]
"""Kinds that are read where it is allowed, and what cannot be judged without each."""

OF_DEVICES = frozenset({"DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceSlice"})
"""Without pods that claim devices, none of these is missed."""

DEVICE_CLASS = "DeviceClass"
IMPLICIT_DEVICES = "deviceclass.resource.kubernetes.io"
"""What comes before a device class's name where a pod asks for it as a resource."""

_Fields = dict[str, Any]
"""Fields to be dropped: ``None``, or what to drop of their parts; `_EACH` is each
element of a list."""

_EACH = "[]"


def _fields(paths: Iterable[str]) -> _Fields:
    """Return the fields that are named by paths such as ``spec.containers[].env``."""
    fields: _Fields = {}
    for path in paths:
        *steps, last = path.replace(_EACH, f".{_EACH}").split(".")
        place = fields
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = None
    return fields


_DROPPED = {
    kind: _fields((*_OBJECTS["drop"].get(kind, ()), *_OBJECTS["drop_of_all"])) for kind in ("Node", "Pod", *FURTHER)
}
for _of_kind in _DROPPED.values():
    _of_kind["metadata"]["annotations"] = dict.fromkeys(_OBJECTS["drop_annotations"])


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was read.

    Attributes
    ----------
    nodes, pods
        Pods that have ended are left out.
    objects
        What else affects placements.
    unread
        What could not be read, and so cannot be judged, in words.
    left_out
        Objects that have no name to be told by.
    version
        Of the cluster's Kubernetes, as in ``v1.36.3``; empty if nothing says it.
    """

    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()
    unread: tuple[str, ...] = ()
    left_out: tuple[Remark, ...] = ()
    version: str = ""

    @property
    def minor(self) -> str:
        """The minor of Kubernetes whose scheduler is asked about it."""
        return nearest_minor(self.version)


def inventory_of(objects: Iterable[Manifest], unread: Iterable[str] = (), left_out: Iterable[Remark] = ()) -> Inventory:
    """Return the inventory of a mixed heap of objects.

    Of two with the same kind, namespace and name the later one counts: it was read
    later. What makes no sense otherwise is for the scheduler to leave out.

    Parameters
    ----------
    unread
        Kinds of `FURTHER` that could not be read.
    left_out
        What was no object at all.

    Raises
    ------
    InputError
        There are no nodes or no pods among them.
    """
    found = dict[tuple[str, str, str], Manifest]()
    refused = list(left_out)
    for one in map(reduced, objects):
        kind, metadata = one["kind"], one.get("metadata")
        if kind not in _DROPPED:
            continue
        if not isinstance(metadata, dict) or not metadata.get("name"):
            refused.append(Remark(f"a {kind}", "metadata.name: missing"))
            continue
        namespace, name = (str(metadata.get(key)) for key in ("namespace", "name"))
        found[kind, namespace, name] = one
    nodes = [one for one in found.values() if one["kind"] == "Node"]
    pods = [one for one in found.values() if one["kind"] == "Pod" and not _ended(one)]
    for there, plural in ((nodes, "nodes"), (pods, "pods")):
        if not there:
            raise InputError(
                f"there are no {plural} in what was read; what-if needs at least the "
                "cluster's nodes and pods, of all namespaces"
            )
    wanted, listed = frozenset(_images_of(pods)), listed_resources(nodes)
    unlisted = any(unlisted_resource(pod, listed) for pod in pods)
    return Inventory(
        tuple(_with_images(node, wanted) for node in sorted(nodes, key=_name)),
        tuple(sorted(pods, key=_turn)),
        tuple(one for one in found.values() if one["kind"] in FURTHER),
        tuple(dict.fromkeys(_unjudged(unread, pods, unlisted=unlisted))),
        tuple(refused),
        _newest_version(nodes),
    )


def _newest_version(nodes: Iterable[Manifest]) -> str:
    """Return the newest kubelet's version: no API server is older than that."""
    told = (str(part_of(part_of(node, "status"), "nodeInfo").get("kubeletVersion", "")) for node in nodes)
    versions = [one for one in told if re.match(r"v\d+\.\d+", one)]
    return max(versions, key=lambda one: [*map(int, re.findall(r"\d+", one))], default="")


def _unjudged(unread: Iterable[str], pods: Iterable[Manifest], *, unlisted: bool) -> Iterator[str]:
    """Yield what cannot be judged without some kinds.

    Parameters
    ----------
    unlisted
        Whether pods ask for an extended resource that no node lists.
    """
    claimed = any(part_of(pod, "spec").get("resourceClaims") for pod in pods)
    for kind in unread:
        missed = kind not in OF_DEVICES or (kind == DEVICE_CLASS and unlisted)
        if claimed or missed:
            yield FURTHER[kind]


def unlisted_resource(pod: Manifest, listed: frozenset[str]) -> str:
    """Return an extended resource that the pod asks for and no node lists, or ""."""
    spec = part_of(pod, "spec")
    return next(
        (
            name
            for kind in ("containers", "initContainers")
            for container in elements(spec, kind)
            for amounts in ("requests", "limits")
            for name in part_of(part_of(container, "resources"), amounts)
            if _is_extended(name) and name not in listed
        ),
        "",
    )


def listed_resources(nodes: Iterable[Manifest]) -> frozenset[str]:
    """Return the resources of which some node lists more than nothing."""
    return frozenset(
        name
        for node in nodes
        for name, amount in part_of(part_of(node, "status"), "allocatable").items()
        if str(amount) != "0"
    )


def _is_extended(name: str) -> bool:
    domain, slash, _ = name.partition("/")
    native = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return bool(slash) and (not native or domain == IMPLICIT_DEVICES)


def reduced(one: Manifest) -> Manifest:
    """Return an object without what is not needed; of unknown kinds only the kind.

    What was reduced before stays as it is.
    """
    fields = _DROPPED.get(one["kind"])
    return {"kind": one["kind"]} if fields is None else _without(one, fields)


def _without(value: Any, fields: _Fields) -> Any:
    """Return plain JSON without the fields; what has another shape stays as it is."""
    if isinstance(value, list) and _EACH in fields:
        return [_without(one, fields[_EACH]) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without(part, fields[name]) if name in fields else part
        for name, part in value.items()
        if fields.get(name, _EACH) is not None
    }


def _ended(pod: Manifest) -> bool:
    return part_of(pod, "status").get("phase") in FINISHED


def _images_of(pods: Iterable[Manifest]) -> Iterator[str]:
    """Yield the names by which nodes may have the images of pods that wait."""
    for pod in pods:
        spec = part_of(pod, "spec")
        if not spec.get("nodeName"):
            for name in ("containers", "initContainers"):
                for container in elements(spec, name):
                    image = str(container.get("image", ""))
                    # The scheduler looks for images without a tag under this one.
                    yield from (image, f"{image}:latest")


def _with_images(node: Manifest, wanted: frozenset[str]) -> Manifest:
    """Return a node with those of its images that matter for where pods go.

    A kubelet reports fifty, which are most of what is known of a node.
    """
    status = part_of(node, "status")
    if not isinstance(status.get("images"), list):
        return node
    images = [
        one
        for one in elements(status, "images")
        if isinstance(one.get("names"), list) and not wanted.isdisjoint(map(str, one["names"]))
    ]
    return {**node, "status": {**status, "images": images}}


def part_of(one: Manifest, name: str) -> Manifest:
    """Return a part of an object, empty where it is none."""
    found = one.get(name)
    return found if isinstance(found, dict) else {}


def elements(one: Manifest, name: str) -> Iterator[Manifest]:
    """Yield the objects of a list; nothing else that may stand there."""
    found = one.get(name)
    for element in found if isinstance(found, list) else ():
        if isinstance(element, dict):
            yield element


def _name(one: Manifest) -> str:
    return str(one["metadata"]["name"])


def _turn(pod: Manifest) -> tuple[int, str, str, str]:
    """Return a pod's place in the scheduler's queue."""
    meta, priority = pod["metadata"], part_of(pod, "spec").get("priority")
    made = str(meta.get("creationTimestamp", ""))
    number = priority if isinstance(priority, int) else 0
    return -number, made, str(meta.get("namespace", "")), _name(pod)
