"""A cluster in the making: manifests that may still be changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from stowage_testbed.simulate import Instance

Manifest = dict[str, Any]

Change = Callable[[Random, Manifest], None]
"""Changes a pod or node in one way, drawn at random."""


@dataclass(slots=True)
class Draft:
    """What an instance is made of.

    Attributes
    ----------
    nodes, pods, objects
        As in `Instance`; here they may be changed.
    """

    nodes: list[Manifest]
    pods: list[Manifest]
    objects: list[Manifest] = field(default_factory=list)

    def instance(self, name: str) -> Instance:
        """Return the cluster as it is by now."""
        return Instance(name, tuple(self.nodes), tuple(self.pods), tuple(self.objects))

    def running(self) -> list[Manifest]:
        """Return the pods that have a node."""
        return [pod for pod in self.pods if pod["spec"].get("nodeName")]


def named(pod: Mapping[str, Any]) -> str:
    """Return ``namespace/name``."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def own(pod: Manifest, kind: str, name: str) -> None:
    """Give ``pod`` to a controller of ``kind``."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    pod["metadata"]["ownerReferences"] = [
        {**owner, "uid": f"{kind}-{name}", "controller": True}
    ]
