"""A cluster's objects, from its API server or from what kubectl printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.api.kinds import DEFINITION, KindMissingError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.host_pods import HOST_TAINT
from stowage_testbed.observe.pod_body import node_of
from stowage_testbed.simulate import Remark
from stowage_testbed.whatif.reading import read_list

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

TIMEOUT_S = 30.0

NEEDED = ("Node", "Pod")
FURTHER = (
    "Namespace",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "PriorityClass",
    "PodDisruptionBudget",
    "ResourceQuota",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "RuntimeClass",
    "PodGroup",
    "ResourceClaimTemplate",
    "ResourceClaim",
    "DeviceClass",
    "ResourceSlice",
)
"""Kinds that are read where there are any and it is allowed."""

_PASSED_OVER = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a cluster.

    Attributes
    ----------
    objects
        By kind; of those in ``asked`` the definitions as well.
    asked
        Further kinds that somebody named.
    unread
        Kinds that may not be listed.
    unreadable
        How many items of the files are no objects.
    """

    objects: Mapping[str, tuple[Manifest, ...]]
    asked: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unreadable: int = 0

    def of(self, kind: str) -> tuple[Manifest, ...]:
        """Return the objects of a kind."""
        return self.objects.get(kind, ())


def read_api(client: ApiClient, asked: Sequence[str] = ()) -> Found:
    """Return what a cluster holds; nothing but lists is asked for.

    Parameters
    ----------
    asked
        Further kinds, whose definitions are taken along.

    Raises
    ------
    StowageError
        No server answers, nodes or pods may not be listed, or an asked kind is not
        served.
    """
    found, unread = list[Manifest](), list[str]()
    reader = Objects(client, TIMEOUT_S)
    for kind in (*NEEDED, *FURTHER, *asked):
        try:
            found += reader.each(kind)
        except ApiRefusedError as error:
            if kind in (*NEEDED, *asked) or error.status not in _PASSED_OVER:
                raise
            if not isinstance(error, KindMissingError):
                unread.append(kind)
    for kind in asked:
        one = reader.kinds.find(kind)
        if not one.built_in:
            found.append(reader.read(DEFINITION, f"{one.plural}.{one.group}"))
    return _sort_out(found, asked, unread)


def read_lists(paths: Sequence[Path], asked: Sequence[str] = ()) -> Found:
    """Return what is in files that kubectl printed as JSON; as `read_api` raises.

    Kinds that are not in them are taken as kinds of which there are none.
    """
    left_out = list[Remark]()
    found = [dict(one) for path in paths for one in read_list(path, left_out, lambda one: one)]
    return replace(_sort_out(found, asked, ()), unreadable=len(left_out))


def _sort_out(objects: Iterable[Manifest], asked: Sequence[str], unread: Sequence[str]) -> Found:
    by_kind = defaultdict[str, dict[tuple[str, str], Manifest]](dict)
    for one in objects:
        metadata = one.get("metadata") or {}
        if one.get("kind") and metadata.get("name"):
            key = (metadata.get("namespace", ""), metadata["name"])
            # Of two lists the later one was read later.
            by_kind[one["kind"]][key] = one
    _leave_host_out(by_kind)
    for kind in NEEDED:
        if not by_kind[kind]:
            raise InputError(
                f"there is no {kind} in what was read; a scenario needs nodes and pods "
                "of all namespaces: kubectl get nodes,pods,pdb -A -o json"
            )
    return Found({kind: tuple(ones.values()) for kind, ones in by_kind.items()}, tuple(asked), tuple(unread))


def _leave_host_out(by_kind: Mapping[str, dict[tuple[str, str], Manifest]]) -> None:
    """Leave out the node of a Stowage cluster that its releases run on."""
    nodes, pods = by_kind["Node"], by_kind["Pod"]
    hosts = {
        one["metadata"]["name"]
        for one in nodes.values()
        for taint in (one.get("spec") or {}).get("taints") or ()
        if taint["key"] == HOST_TAINT
    }
    for name in hosts:
        del nodes["", name]
    for key in [key for key, one in pods.items() if node_of(one) in hosts]:
        del pods[key]
