"""Steps that change the nodes, or interrupt a process of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Gt, Interval, Le

from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.cluster.node_pool import Effect, NodePool, Taint
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.types import (
    Filled,
    Further,
    Label,
    NodeNames,
    Seconds,
    Some,
    SomeCpu,
    SomeMemory,
    Texts,
    Written,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Equal nodes, as a file has them."""

    prefix: Label = "node"
    """Names are <prefix>-0 and on, padded with zeros so that they sort as numbers."""
    count: Annotated[int, Interval(ge=1, le=10000)]
    """Number of nodes."""
    cpu: SomeCpu
    """CPU of one node, as in "4" or 500m."""
    memory: SomeMemory
    """Memory of one node, as in 4G or 512Mi."""
    pods: Some = MOST_PODS
    """Most pods that one node takes."""
    resources: Mapping[Further, SomeMemory] = field(default_factory=dict)
    """Further resources of one node, as in nvidia.com/gpu, hugepages-2Mi or ephemeral-storage."""
    labels: Texts = field(default_factory=dict)
    """Labels of the nodes."""
    taints: tuple[Taint, ...] = ()
    """Taints of the nodes."""
    zones: tuple[Filled, ...] = ()
    """Values of topology.kubernetes.io/zone, dealt out to the nodes in turn."""

    def make(self) -> NodePool:
        """Return the nodes."""
        sizes = Resources(self.resources, cpu=self.cpu, memory=self.memory, pods=self.pods)
        return NodePool(self.prefix, self.count, sizes, self.labels, self.taints, self.zones)


Node = Annotated[NodePool, Written(Nodes, Nodes.make)]


@dataclass(frozen=True, slots=True)
class Cordon(Action):
    """Close nodes for new pods."""

    kind = "cordon"
    bare = True
    nodes: NodeNames


@dataclass(frozen=True, slots=True)
class Uncordon(Action):
    """Open nodes again."""

    kind = "uncordon"
    bare = True
    nodes: NodeNames


@dataclass(frozen=True, slots=True)
class Drain(Action):
    """Cordon nodes and evict their pods, as their disruption budgets allow.

    A pod that a budget protects is tried again until the deadline.
    """

    kind = "drain"
    deadline = "settle"
    nodes: NodeNames
    """Which nodes."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""


@dataclass(frozen=True, slots=True)
class TaintNodes(Action):
    """Give nodes a taint."""

    kind = "taint"
    nodes: NodeNames
    """Which nodes."""
    key: Filled
    """The taint's key."""
    effect: Effect
    """What happens to pods that do not tolerate it."""
    value: str = ""
    """The taint's value."""


@dataclass(frozen=True, slots=True)
class UntaintNodes(Action):
    """Take taints from nodes."""

    kind = "untaint"
    nodes: NodeNames
    """Which nodes."""
    key: Filled
    """The taints' key."""
    effect: Effect | None = None
    """Only those of this effect; without it all."""


@dataclass(frozen=True, slots=True)
class AddNodes(Action):
    """Add nodes of one kind, and wait until they are ready."""

    kind = "add-nodes"
    bare = True
    deadline = "nodes"
    pool: Node

    @property
    def changed_nodes(self) -> int:
        return self.pool.count


@dataclass(frozen=True, slots=True)
class RemoveNodes(Action):
    """Remove nodes with their pods, and wait until they are gone."""

    kind = "remove-nodes"
    bare = True
    deadline = "nodes"
    nodes: NodeNames

    @property
    def changed_nodes(self) -> int:
        return len(self.nodes)


Process = Literal["api-server", "controller-manager", "etcd", "kwok", "scheduler"]  # What can be interrupted


@dataclass(frozen=True, slots=True)
class Interrupt(Action):
    """Take a process away for some seconds; the next step finds it serving again.

    It needs a cluster whose control plane are processes of this machine.
    """

    kind = "interrupt"
    deadline = "settle"
    process: Process
    """Which one. kwok stands for the kubelets of all fake nodes."""
    how: Literal["kill", "stop"]
    """stop: it hangs, and goes on where it was. kill: it is dead, and is started again."""
    for_s: Annotated[float, Gt(0), Le(600)]
    """For how many seconds."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""
