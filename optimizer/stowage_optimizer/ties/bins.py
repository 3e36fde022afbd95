"""Devices that pods share or that overlap: those that come to a node must be able to in some order.

What looks at amounts alone, as programs do, knows nothing of it. Strategies that fill
nodes pod by pod keep to it by themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from stowage_optimizer.assignments.device_order import can_come
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing, as_assignment, as_nodes
from stowage_optimizer.model.tie import Pins, Rows, Tie
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.repair import Repairer


def device_tie(packing: Packing) -> Tie | None:
    """Return what ties the pods that ask for devices; or nothing."""
    return None if packing.bins is None else DeviceTie()


@dataclass(frozen=True)
class DeviceTie(Tie):
    """On every node first fit has devices for all pods that come, in an order that is known."""

    divisible = True
    partial = True
    native = True

    def keeps(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether an order is known on every node."""
        return can_come(packing, assignment)

    def repaired(self, packing: Packing, assignment: Assignment, budget: TimeBudget) -> Assignment:
        """Return ``assignment`` with those elsewhere, or waiting, for whom there are no devices."""
        if self.keeps(packing, assignment):
            return assignment
        repairer = Repairer(packing.problem, strict=budget.policy is Policy.STRICT)
        return as_assignment(repairer.repair(as_nodes(assignment)))

    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Pin nothing."""
        del packing, proposal, budget, rng
        return {}

    def write(self, packing: Packing, rows: Rows) -> None:
        """Write nothing: what is proved holds for pods that find devices everywhere too."""
        del packing, rows

    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie | None:
        """Return the same: what the others have is taken off the devices of the part."""
        del assignment
        return self if any(packing.kind_of[item].requests for item in members) else None
