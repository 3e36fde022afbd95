"""A case: one instance of the benchmark, and the policy that it is solved under."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum

from stowage_testbed.instances.cell import Cell
from stowage_testbed.instances.constraint_mix import with_constraints
from stowage_testbed.scenario.implied_steps import imply_steps
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.model import Scenario

_SEED_BYTES = 8
_SEED_BITS = 63


class Family(StrEnum):
    """Where the instances come from.

    ``PAPER``: the paper's generator. ``MIX``: the same with constraints.
    """

    PAPER = "paper"
    MIX = "mix"


@dataclass(frozen=True, slots=True)
class Case:
    """The ``number``-th instance of a cell."""

    family: Family
    cell: Cell
    number: int

    @property
    def id(self) -> str:
        """Return a name that is also a file name, as in ``paper-n4-p4-k1-u95-0``."""
        return f"{self.family}-{self.cell.name}-{self.number}"

    @property
    def policy(self) -> str:
        """Return the policy by its name on the command line.

        The paper's instances are solved as the paper does, the others as users would.
        """
        return "strict" if self.family is Family.MIX else "paper"

    def seed(self, attempt: int) -> int:
        """Return the seed of the ``attempt``-th try to find an instance: 63 bits."""
        label = f"{self.cell.name}/{self.number}/{attempt}".encode()
        digest = hashlib.blake2b(label, digest_size=_SEED_BYTES).digest()
        return int.from_bytes(digest, "big") >> (8 * _SEED_BYTES - _SEED_BITS)

    def scenario(self, attempt: int) -> Scenario:
        """Return nodes and workload of the ``attempt``-th try."""
        cell, seed = self.cell, self.seed(attempt)
        drawn = generate(seed, cell.nodes, cell.pods_per_node, cell.priorities, cell.usage)
        scenario = Scenario(
            name=self.id,
            description=f"Seed {seed}.",
            nodes=(drawn.node_pool(),),
            workload=drawn.workload,
            instance=drawn.spec,
        )
        if self.family is Family.MIX:
            scenario = with_constraints(scenario)
        return replace(scenario, steps=imply_steps(scenario.workload))
