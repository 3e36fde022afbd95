"""Which nodes are in use, by which pods, and what each costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.prices import Prices

GOES_WITH_ITS_NODE = "daemonset"
"""The rule of pods that nobody would miss on a node that is gone."""

REFUSED = "not understood by the optimiser"
"""The rule of pods that may move and that a plan leaves alone all the same."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What nodes cost an hour.

    Attributes
    ----------
    an_hour
        By node.
    without
        Why the other nodes have no price, by node.
    """

    currency: str
    an_hour: Mapping[str, Decimal]
    without: Mapping[str, str] = field(default_factory=dict)

    def sum(self, nodes: Iterable[str]) -> Decimal:
        """Return what the nodes among them cost that have a price."""
        return sum(
            (self.an_hour[one] for one in nodes if one in self.an_hour), Decimal()
        )


def costs_of(nodes: Iterable[Mapping[str, Any]], prices: Prices) -> Costs:
    """Return what ``v1`` Nodes cost."""
    an_hour, without = dict[str, Decimal](), dict[str, str]()
    for node in nodes:
        name, price = str(node["metadata"]["name"]), prices.of(node)
        if isinstance(price, Decimal):
            an_hour[name] = price
        else:
            without[name] = price
    return Costs(prices.currency, an_hour, without)


class NodeUse:
    """The nodes of a snapshot and the pods on them.

    Attributes
    ----------
    names
        Of all nodes.
    movable
        How many pods may leave each node that has such.
    stays
        The rules that keep pods on each node that has such, with one of the pods by
        rule. DaemonSets do not count: their pods go with their nodes.
    """

    def __init__(
        self, snapshot: pb.Snapshot, refusals: Iterable[pb.Refusal] = ()
    ) -> None:
        self.names = frozenset(node.name for node in snapshot.nodes)
        self.movable: Counter[str] = Counter()
        self.stays: defaultdict[str, dict[str, str]] = defaultdict(dict)
        refused = {one.subject for one in refusals}
        for pod in snapshot.pods:
            if pod.node not in self.names:
                continue
            rule = "" if pod.movable else pod.immovable_reason
            if not rule and pod.class_id in refused:
                rule = REFUSED
            if not rule:
                self.movable[pod.node] += 1
            elif rule != GOES_WITH_ITS_NODE:
                name = f"{pod.namespace}/{pod.name}"
                self.stays[pod.node].setdefault(rule, name)

    def in_use(self) -> frozenset[str]:
        """Return the nodes with a pod that does not go with its node."""
        return frozenset(self.movable) | frozenset(self.stays)

    def in_use_after(self, plan: pb.Plan) -> frozenset[str]:
        """Return the same, once the plan's moves are made."""
        on_node = Counter(self.movable)
        for move in plan.moves:
            on_node[move.from_node] -= 1
            on_node[move.to_node] += 1
        left = frozenset(node for node, pods in on_node.items() if pods > 0)
        return left | frozenset(self.stays)
