"""Nodes of one kind, as integers, and the objects that the API server is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice, repeat
from typing import Annotated, Any, Literal

from annotated_types import MinLen

from stowage_testbed.amounts.resources import CPU, MEMORY, NOTHING, PODS, Resources
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION, FAKE_NODE_VALUE

ZONE_LABEL = "topology.kubernetes.io/zone"
METRICS_PATH_ANNOTATION = "metrics.k8s.io/resource-metrics-path"
"""Where metrics-server asks: one KWOK answers for every node."""

MOST_NODES = 100_000

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
"""What a taint does to pods that do not tolerate it."""


class NodePoolError(StowageError):
    """A node pool cannot be made, for all its ``issues``."""

    def __init__(self, what: str, issues: Sequence[str], way_out: str = "") -> None:
        self.issues = tuple(issues)
        super().__init__(f"{what}: {'; '.join(issues)}{way_out}")


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint of a node pool."""

    key: Annotated[str, MinLen(1)]
    """The taint's key."""
    effect: Effect
    """What happens to pods that do not tolerate it."""
    value: str = ""
    """The taint's value."""


@dataclass(frozen=True, slots=True)
class NodePool:
    """Nodes of one kind; zones are dealt out in turn.

    Raises
    ------
    NodePoolError
        A size is negative or zero; names every such field.
    """

    name_prefix: str = "node"
    count: int = 0
    resources: Resources = NOTHING
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        always = {name: self.resources[name] for name in (CPU, MEMORY, PODS)}
        sizes = {"count": self.count, **always, **self.resources}
        issues = [f"{name} is {size}, it must be 1 or more" for name, size in sizes.items() if size < 1]
        if self.count > MOST_NODES:
            issues.append(f"count is {self.count}, it must be {MOST_NODES} or less")
        if issues:
            raise NodePoolError(f"node pool {self.name_prefix!r}", issues)

    def node_names(self) -> list[str]:
        """Return the nodes' names in order."""
        width = len(str(self.count - 1))
        return [f"{self.name_prefix}-{i:0{width}}" for i in range(self.count)]

    def manifests(self) -> list[dict[str, Any]]:
        """Return the nodes as the API server is given them, in order."""
        zones = cycle(self.zones) if self.zones else repeat(None)
        return [
            self._manifest(name, zone) for name, zone in zip(self.node_names(), islice(zones, self.count), strict=True)
        ]

    def _manifest(self, name: str, zone: str | None) -> dict[str, Any]:
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        if zone is not None:
            labels[ZONE_LABEL] = zone
        resources = self.resources.quantities()
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**labels, **self.labels}, "annotations": annotate_fake(name)},
            "spec": {"taints": [asdict(taint) for taint in self.taints]},
            "status": {"capacity": resources, "allocatable": resources},
        }


def annotate_fake(node: str) -> dict[str, str]:
    """Return the annotations of a node that KWOK plays."""
    return {FAKE_NODE_ANNOTATION: FAKE_NODE_VALUE, METRICS_PATH_ANNOTATION: metrics_path(node)}


def metrics_path(node: str) -> str:
    """Return the path of a node's usage on the port of its fake kubelet."""
    return f"/metrics/nodes/{node}/metrics/resource"
