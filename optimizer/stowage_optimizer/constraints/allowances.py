"""Whether a plan keeps within its allowances, and what is taken back where not."""

from collections import defaultdict
from collections.abc import Sequence

from stowage_optimizer.model.packing import Allowance, Assignment, Disrupted, Packing


def keeps_allowances(packing: Packing, assignment: Assignment) -> bool:
    """Return whether ``assignment`` disrupts no more of any than it allows."""
    return all(len(disrupted(one, packing.current, assignment)) <= one.most for one in packing.allowances)


def within_allowances(packing: Packing, assignment: Assignment) -> Assignment:
    """Return ``assignment`` with the pods sent home that are disrupted too many.

    Room is not looked at. Of those that are disrupted the first stay so.
    """
    kept = list(assignment)
    for one in packing.allowances:
        for index in disrupted(one, packing.current, assignment)[one.most :]:
            kept[index] = packing.current[index]
    return tuple(kept)


def disrupted(allowance: Allowance, current: Assignment, assignment: Assignment) -> list[int]:
    """Return the members that count, ascending."""
    away = [one for one in allowance.members if assignment[one] != current[one]]
    if allowance.counts is Disrupted.EITHER:
        return away
    moves = allowance.counts is Disrupted.MOVES
    return [one for one in away if (assignment[one] is not None) == moves]


class Spent:
    """What is left of each allowance while moves are made one after the other."""

    def __init__(self, packing: Packing) -> None:
        self._left = [one.most for one in packing.allowances]
        self._of: defaultdict[int, list[int]] = defaultdict(list)
        for number, one in enumerate(packing.allowances):
            for index in one.members:
                self._of[index].append(number)

    def take(self, moved: Sequence[int]) -> bool:
        """Count ``moved`` and return True, if that is allowed."""
        for done, index in enumerate(moved):
            if any(self._left[number] < 1 for number in self._of[index]):
                self._count(moved[:done], 1)
                return False
            self._count([index], -1)
        return True

    def _count(self, members: Sequence[int], sign: int) -> None:
        for index in members:
            for number in self._of[index]:
                self._left[number] += sign
