"""The cells of the paper's grid (its evaluation, "Parameters")."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

NODES = (4, 8, 16, 32)
PODS_PER_NODE = (4, 8)
PRIORITIES = (1, 2, 4)
USAGES_PERCENT = (90, 95, 100, 105)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of parameters; ``usage_percent`` is demand over capacity."""

    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int

    @property
    def name(self) -> str:
        """Return the cell as text, as in ``n32-p8-k4-u105``."""
        return f"n{self.nodes}-p{self.pods_per_node}-k{self.priorities}-u{self.usage_percent}"

    @property
    def usage(self) -> float:
        """Return the usage as a share."""
        return self.usage_percent / 100


def grid() -> tuple[Cell, ...]:
    """Return the paper's 96 cells."""
    return tuple(Cell(*values) for values in product(NODES, PODS_PER_NODE, PRIORITIES, USAGES_PERCENT))
