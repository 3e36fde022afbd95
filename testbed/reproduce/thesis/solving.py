"""Putting an instance of the thesis's evaluation to a solver."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.bench.cell import Cell
from testbed.reproduce.instance.rows import ResultRow
from testbed.reproduce.instance.solving import Solve
from testbed.reproduce.sweep.tools import Tools
from testbed.reproduce.thesis.cases import ThesisCase
from testbed.reproduce.thesis.rows import ThesisRow
from testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class SolveTask:
    """One strategy with one limit on one instance; see `Solve`."""

    instance: ThesisRow
    strategy: str
    limit_s: float
    deterministic: bool = False

    @property
    def id(self) -> str:
        """Return instance, strategy and limit as one name."""
        return self._solve.id

    @property
    def _solve(self) -> Solve:
        return Solve(
            self.instance.case, self.strategy, self.limit_s, self.deterministic
        )

    def carry_out(self, tools: Tools) -> tuple[ResultRow, ...]:
        """Return what the strategy made of it."""
        scenario = scenario_of(self.instance)
        return (self._solve.of(scenario, self.instance.start, tools),)


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
