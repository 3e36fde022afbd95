"""From an instance of the thesis's evaluation back to its scenario."""

from __future__ import annotations

from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.thesis.cases import ThesisCase
from stowage_testbed.reproduce.thesis.rows import ThesisRow
from stowage_testbed.scenario.model import Scenario


def scenario_of(instance: ThesisRow) -> Scenario:
    """Return the scenario that the instance was generated as."""
    cell = Cell(
        instance.nodes,
        instance.pods_per_node,
        instance.priorities,
        instance.usage_percent,
    )
    case = ThesisCase(cell, instance.number, instance.labelled)
    return case.scenario(instance.seeds_tried - 1)
