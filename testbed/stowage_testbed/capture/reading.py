"""A cluster's objects at one moment, from its API server or from what kubectl printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION, KindMissingError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.components import HOST_TAINT
from stowage_testbed.observe.pod import node_of
from stowage_testbed.simulate.instance import Remark
from stowage_testbed.whatif.inventory import kind_of
from stowage_testbed.whatif.reading import TIMEOUT_S, list_kinds, read_list

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

NEEDED = ("Node", "Pod")
FURTHER = (
    "Namespace", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "PriorityClass", "PodDisruptionBudget",
    "ResourceQuota", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "RuntimeClass", "PodGroup",
    "ResourceClaimTemplate", "ResourceClaim", "DeviceClass", "ResourceSlice", "DeviceTaintRule",
)  # fmt: skip
"""Kinds that are read where there are any and it is allowed."""


def key_of(one: Mapping[str, Any]) -> tuple[str, str]:
    """Return the namespace of an object, empty without one, and its name."""
    return one["metadata"].get("namespace") or "", one["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a cluster."""

    objects: Mapping[str, tuple[Manifest, ...]]
    """By kind; one that is not Kubernetes' own has its group, as in ``Queue.acme.com``."""
    asked: tuple[str, ...] = ()
    """Further kinds that somebody named, whose definitions are among the objects."""
    unread: tuple[str, ...] = ()
    """Kinds that may not be listed."""
    unreadable: int = 0
    """How many items of the files are no objects."""

    def of(self, kind: str) -> tuple[Manifest, ...]:
        """Return the objects of a kind: of Kubernetes', or of ``acme.com/v1/Queue``."""
        version, _, name = kind.rpartition("/")
        group = version.rpartition("/")[0]
        return self.objects.get(f"{name}.{group}" if "." in group else name, ())

    def of_asked(self) -> Iterable[Manifest]:
        """Yield the objects of the kinds that somebody named; without a version, of any group."""
        for kind in self.asked:
            if "/" in kind:
                yield from self.of(kind)
            else:
                same = [one for one in self.objects if one == kind or one.startswith(f"{kind}.")]
                yield from chain.from_iterable(self.objects[name] for name in same)

    def foreign(self) -> list[str]:
        """Return the kinds that only have their name in common with those that are read."""
        own = {one.rpartition("/")[2] for one in self.asked}
        return [one for one in self.objects if "." in one and one.partition(".")[0] in {*NEEDED, *FURTHER} - own]


def read_api(client: ApiClient, asked: Sequence[str] = ()) -> Found:
    """Return what a cluster lists.

    Raises a StowageError if it does not answer, or does not list nodes, pods, or what was asked for.
    """
    objects = Objects(client, TIMEOUT_S)
    found, refused = list_kinds(objects, (*NEEDED, *asked), FURTHER, {}, dict)
    unread = [kind for kind, error in refused.items() if not isinstance(error, KindMissingError)]
    for kind in map(objects.kinds.find, asked):
        if not kind.built_in:
            found.append(objects.read(DEFINITION, f"{kind.plural}.{kind.group}"))
    return sort_out(found, asked, unread)


def read_lists(paths: Sequence[Path], asked: Sequence[str] = ()) -> Found:
    """Return what is in files that kubectl printed as JSON; of kinds that are not there, there are none."""
    left_out = list[Remark]()
    found = [one for path in paths for one in read_list(path, left_out, dict)]
    return replace(sort_out(found, asked), unreadable=len(left_out))


def sort_out(objects: Iterable[Mapping[str, object]], asked: Sequence[str] = (), unread: Sequence[str] = ()) -> Found:
    """Return objects by kind, without the node of a Stowage cluster that its releases run on."""
    by_kind = defaultdict[str, dict[tuple[str, str], Manifest]](dict)
    for one in map(dict, objects):
        metadata = one.get("metadata")
        if one.get("kind") and isinstance(metadata, dict) and metadata.get("name"):
            # Of two lists the later one was read later.
            by_kind[kind_of(one)][key_of(one)] = one
    hosts = {
        name
        for (_, name), node in by_kind["Node"].items()
        if any(taint["key"] == HOST_TAINT for taint in (node.get("spec") or {}).get("taints") or ())
    }
    by_kind["Node"] = {key: one for key, one in by_kind["Node"].items() if key[1] not in hosts}
    by_kind["Pod"] = {key: one for key, one in by_kind["Pod"].items() if node_of(one) not in hosts}
    for kind in NEEDED:
        if not by_kind[kind]:
            raise InputError(
                f"there is no {kind} in what was read; a scenario needs nodes and pods "
                "of all namespaces: kubectl get nodes,pods,pdb -A -o json"
            )
    return Found({kind: tuple(ones.values()) for kind, ones in by_kind.items()}, tuple(asked), tuple(unread))
