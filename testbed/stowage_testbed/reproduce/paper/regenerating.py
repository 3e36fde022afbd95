"""From an instance of the paper's evaluation back to its scenario."""

from __future__ import annotations

from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.paper.rows import InstanceRow
from stowage_testbed.scenario.model import Scenario


def scenario_of(instance: InstanceRow) -> Scenario:
    """Return the scenario that the instance was generated as."""
    cell = Cell(
        instance.nodes,
        instance.pods_per_node,
        instance.priorities,
        instance.usage_percent,
    )
    case = Case(Family.PAPER, cell, instance.number)
    return case.scenario(instance.seeds_tried - 1)
