"""A quick start: node after node is emptied into the others, if they have room."""

from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.stages.consolidate.node_costs import Costs
from stowage_optimizer.ties.disruptions import Spent, allowances_of


def emptied(packing: Packing, others: frozenset[int], costs: Costs, stop: Callable[[], bool]) -> Assignment:
    """Return an assignment in which the emptiest nodes have given their pods away.

    Where nodes have prices, those that save most by pod.

    Parameters
    ----------
    packing
        The problem, whose allowances are kept.
    """
    return _Emptying(packing, others, costs, stop).run()


@dataclass(slots=True)
class _Emptying:
    packing: Packing
    others: frozenset[int]
    costs: Costs
    stop: Callable[[], bool]
    _builder: AssignmentBuilder = field(init=False)
    _spent: Spent = field(init=False)
    _on: dict[int, list[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._builder = AssignmentBuilder(self.packing)
        self._spent = Spent(self.packing, allowances_of(self.packing))
        for index, home in enumerate(self.packing.current):
            if home is not None:
                self._builder.put(index, home)
                self._on.setdefault(home, []).append(index)

    def run(self) -> Assignment:
        """Empty what can be emptied."""
        worth = {node for node in self._on if self.costs.of[node]}
        could_go = sorted(worth - self.others, key=self._effort)
        for node in could_go:
            if self.stop():
                break
            # A pod that came here from another node would be moved twice.
            if all(self.packing.current[item] == node for item in self._on[node]):
                self._empty(node)
        return self._builder.assignment

    def _effort(self, node: int) -> tuple[float, int]:
        return len(self._on[node]) / self.costs.of[node], node

    def _empty(self, node: int) -> None:
        members = sorted(self._on[node], key=lambda i: self.packing.kind_of[i].demand, reverse=True)
        moved = []
        for item in members:
            target = self._target(item, node)
            if target is None:
                break
            self._builder.take(item)
            self._builder.put(item, target)
            moved.append(item)
        if len(moved) < len(members) or not self._spent.take(moved):
            for item in moved:
                self._builder.take(item)
                self._builder.put(item, node)
            return
        del self._on[node]
        for item in moved:
            target = self._builder.node_of(item)
            if target is not None:
                self._on.setdefault(target, []).append(item)

    def _target(self, item: int, leaving: int) -> int | None:
        for node in self.packing.kind_of[item].eligible:
            used = node in self.others or node in self._on
            if node != leaving and used and self._builder.fits(item, node):
                return node
        return None
