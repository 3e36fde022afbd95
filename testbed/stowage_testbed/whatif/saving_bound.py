"""A limit on what can be saved: no plan whatever leaves cheaper nodes in use.

What stays in use must have room for all that runs, of each resource, and must be as
many nodes as the optimiser has proved. That is a linear program, whose solution in
floating point proves nothing. But any weights of its demands prove a limit: each unit
that must remain costs at least its weight, less what nodes would gain by it (the
Lagrangian dual). The solver's weights are taken, and the limit is computed exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.capacity import Capacity
from stowage_testbed.whatif.node_use import GOES_WITH_ITS_NODE, Costs, NodeUse

Amounts = tuple[int, ...]


def most_saved(
    snapshot: pb.Snapshot, use: NodeUse, costs: Costs, fewest: int
) -> Decimal:
    """Return what no plan saves more than, an hour, of the nodes that have a price.

    Parameters
    ----------
    fewest
        A proved limit on how few nodes are in use after a plan.
    """
    in_use = use.in_use()
    could_go = (use.names - use.stays.keys()) & costs.an_hour.keys()
    needed = _Needed(snapshot, use, frozenset(could_go), fewest)
    offers = Counter(
        (Fraction(costs.an_hour[node]), needed.offers[node]) for node in could_go
    )
    least = _least_cost(needed.demands, offers)
    now = sum((Fraction(costs.an_hour[node]) for node in could_go & in_use), Fraction())
    # What nodes cost together is a whole number of what all prices are multiples of.
    unit = _unit([price for price, _ in offers])
    saved = math.floor((now - least) / unit) * unit if unit else Fraction()
    exact = max(saved, Fraction())
    return Decimal(exact.numerator) / Decimal(exact.denominator)


class _Needed:
    """What the nodes that could go must have left between them.

    Attributes
    ----------
    demands
        By resource, and last how many nodes; what stays in use anyway is taken off.
    offers
        What each node brings, in the same order.
    """

    def __init__(
        self, snapshot: pb.Snapshot, use: NodeUse, could_go: frozenset[str], fewest: int
    ) -> None:
        there = Capacity(snapshot)
        place = {node.name: row for row, node in enumerate(snapshot.nodes)}
        room, taken = there.size.copy(), np.zeros_like(there.size)
        for pod in snapshot.pods:
            row = place.get(pod.node)
            if row is None:
                continue
            if not pod.movable and pod.immovable_reason == GOES_WITH_ITS_NODE:
                room[row] -= there.requests[pod.class_id]
            else:
                taken[row] += there.requests[pod.class_id]
        # A node that is overcommitted may stay so.
        most = np.maximum(np.maximum(room, taken), 0)
        self.offers: Mapping[str, Amounts] = {
            name: (*map(int, most[place[name]]), 1) for name in could_go
        }
        others = [row for name, row in place.items() if name not in could_go]
        left = taken.sum(axis=0) - most[others].sum(axis=0)
        self.demands: Amounts = (*map(int, left), fewest - len(others))


def _least_cost(
    demands: Sequence[int], offers: Mapping[tuple[Fraction, Amounts], int]
) -> Fraction:
    """Return a limit that no choice of nodes which meet the demands costs less than."""
    # What is met by nothing needs no weight.
    asked = [row for row, amount in enumerate(demands) if amount > 0]
    if not asked or not offers:
        return Fraction()
    problem = _Problem(
        tuple(demands[row] for row in asked),
        tuple(tuple(amounts[row] for row in asked) for _, amounts in offers),
        tuple(price for price, _ in offers),
        tuple(offers.values()),
    )
    weights = problem.weights()
    least = sum(weights, Fraction())
    for row, (price, number) in enumerate(
        zip(problem.prices, problem.numbers, strict=True)
    ):
        gain = sum(
            (
                weight * Fraction(amount, demand)
                for weight, amount, demand in zip(
                    weights, problem.amounts[row], problem.demands, strict=True
                )
            ),
            Fraction(),
        )
        least += number * min(Fraction(), price - gain)
    return max(least, Fraction())


@dataclass(frozen=True, slots=True)
class _Problem:
    """The cheapest part of some nodes that meets demands; equal nodes are one row."""

    demands: Amounts
    amounts: tuple[Amounts, ...]
    prices: tuple[Fraction, ...]
    numbers: tuple[int, ...]

    def weights(self) -> list[Fraction]:
        """Return what a solver thinks each demand to be worth, as a whole."""
        scaled = np.array(self.amounts, float) / np.array(self.demands, float)
        found = linprog(
            [float(price) for price in self.prices],
            A_ub=-scaled.T,
            b_ub=-np.ones(len(self.demands)),
            bounds=[(0, number) for number in self.numbers],
            method="highs",
        )
        if not found.success:
            # Not to be had: every weight proves something, if only that 0 is a limit.
            return [Fraction()] * len(self.demands)
        return [
            max(Fraction(), Fraction(-float(one))) for one in found.ineqlin.marginals
        ]


def _unit(prices: Sequence[Fraction]) -> Fraction:
    """Return the largest amount of which every price is a multiple."""
    scale = math.lcm(*(price.denominator for price in prices)) if prices else 1
    return Fraction(math.gcd(*(int(price * scale) for price in prices)), scale)
