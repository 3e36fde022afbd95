"""What emptying a node brings, over what it takes: its gain.

    gain(node) = (price of the node / price of all nodes in use)
               / (cost of its moves / cost of moving all pods that may move)

Karpenter's policy ``Balanced`` has the formula. A gain of 1 is that of the whole: the
node saves as much of the price as its moves are of all moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from stowage_optimizer.contract import optimizer_pb2 as pb

LEAST_COST = Fraction(1, 10)
DELETION_COSTS, PRIORITIES = 2**27, 2**25
"""So much of a pod's deletion cost, or of its priority, adds the cost of one move."""


def cost_of_move(deletion_cost: int, priority: int) -> Fraction:
    """Return what moving a pod costs: 1 for one like most."""
    cost = 1 + Fraction(deletion_cost, DELETION_COSTS) + Fraction(priority, PRIORITIES)
    return max(LEAST_COST, cost)


@dataclass(slots=True)
class Gains:
    """Gains of nodes.

    Parameters
    ----------
    snapshot
        Its movable pods are those that may move.
    used
        The nodes in use that are asked about.
    """

    snapshot: pb.Snapshot
    used: frozenset[str]
    _prices: Mapping[str, int] = field(init=False)
    _costs: Mapping[str, Fraction] = field(init=False)
    _all_prices: int = field(init=False)
    _all_costs: Fraction = field(init=False)

    def __post_init__(self) -> None:
        prices = {one.name: one.hourly_price_micros for one in self.snapshot.nodes}
        # Where no node has a price, each counts as one.
        self._prices = prices if any(prices.values()) else dict.fromkeys(prices, 1)
        priorities = {one.id: one.priority for one in self.snapshot.pod_classes}
        self._costs = {
            pod.uid: cost_of_move(pod.deletion_cost, priorities[pod.class_id])
            for pod in self.snapshot.pods
            if pod.node and pod.movable
        }
        self._all_prices = sum(self._prices[name] for name in self.used)
        self._all_costs = sum(self._costs.values(), Fraction(0))

    def of(self, node: str, moved: Iterable[str]) -> Fraction:
        """Return the gain of emptying a node by moving these pods, told by UID."""
        effort = sum((self._costs[uid] for uid in moved), Fraction(0))
        if not self._all_prices or not effort:
            return Fraction(0)
        share = Fraction(self._prices[node], self._all_prices)
        return share / (effort / self._all_costs)
