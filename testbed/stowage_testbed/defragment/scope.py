"""Of which nodes a plan may take pods, and between which they move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import InputError
from stowage_testbed.defragment.findings import Bill
from stowage_testbed.invariants.selector import selects
from stowage_testbed.whatif.in_use import nodes_in_use
from stowage_testbed.whatif.inventory import Inventory, part_of

OUTSIDE = "out-of-scope"
"""Why a pod stays that runs on a node which was not asked about."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The nodes that are asked about.

    Attributes
    ----------
    snapshot
        Other nodes have no room for further pods, and their pods stay.
    names
        Of the nodes that are asked about.
    used
        Those of them that are in use.
    """

    snapshot: pb.Snapshot
    names: frozenset[str]
    used: frozenset[str]

    @property
    def idle(self) -> frozenset[str]:
        """Those that are not in use."""
        return self.names - self.used

    def bill(self, nodes: frozenset[str]) -> Bill:
        """Return what nodes cost."""
        prices = (one.hourly_price_micros for one in self.snapshot.nodes if one.name in nodes)
        return Bill(len(nodes), sum(prices))

    def least(self, in_use: pb.NodesInUse) -> Bill:
        """Return the proved limits of these nodes, by those of all nodes.

        The others in use stay so in every plan.
        """
        others = self.bill(nodes_in_use(self.snapshot) - self.names)
        return Bill(in_use.lower_bound - others.nodes, max(0, in_use.price_lower_bound_micros - others.hourly_micros))


def scope_of(inventory: Inventory, snapshot: pb.Snapshot, selector: Mapping[str, Any] | None) -> Scope:
    """Return the nodes that a selector selects; without one, all.

    Raises
    ------
    InputError
        It selects none.
    """
    known = {node.name for node in snapshot.nodes}
    names = frozenset(
        name
        for node in inventory.nodes
        if (name := str(node["metadata"]["name"])) in known
        and (not selector or selects(selector, part_of(node["metadata"], "labels")))
    )
    if not names:
        raise InputError(
            "no node has the labels that --node-selector asks for; kubectl get nodes --show-labels lists them"
        )
    return Scope(narrowed(snapshot, names), names, nodes_in_use(snapshot) & names)


def narrowed(snapshot: pb.Snapshot, names: frozenset[str]) -> pb.Snapshot:
    """Return a snapshot in which nothing comes to or leaves the other nodes."""
    if len(names) == len(snapshot.nodes):
        return snapshot
    own = pb.Snapshot()
    own.CopyFrom(snapshot)
    there = Counter(pod.node for pod in own.pods)
    for node in own.nodes:
        if node.name not in names:
            node.allocatable.pods = there[node.name]
    for pod in own.pods:
        if pod.node and pod.node not in names and pod.movable:
            pod.movable, pod.immovable_reason = False, OUTSIDE
    return own
