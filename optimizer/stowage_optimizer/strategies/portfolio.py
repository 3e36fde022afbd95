"""`portfolio`: several strategies one after the other; the best answer counts.

The quick ones come first, so that something good is there early. The others get what
one leaves of its time, and none runs once an answer is proved optimal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.strategies.strategy import Strategy

MEMBERS = ("first-fit-decreasing", "lexicographic", "cpsat-aggregated", "paper")
"""The members, in this order; those that are not installed are skipped."""


def portfolio_of(strategies: Mapping[str, Strategy]) -> Strategy:
    """Return the portfolio of those `MEMBERS` that ``strategies`` holds."""
    return Portfolio(tuple(strategies[name] for name in MEMBERS if name in strategies))


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Runs its members in turn; each gets an equal part of the time that is left."""

    members: tuple[Strategy, ...]

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Return the best solution of any member; see `Strategy.solve`."""
        best = _Best(budget.policy, publish)
        solution = Solution(packing, packing.current, refusals=packing.refusals)
        for asked, member in enumerate(self.members):
            share_s = max(0.0, budget.left_s()) / (len(self.members) - asked)
            solution = member.solve(packing, budget.part(share_s), best.pass_on)
            best.take(solution)
            if solution.optimal:
                break
        return replace(best.solution or solution, message=solution.message)


@dataclass(slots=True)
class _Best:
    """The best final solution of any member, and how good the best published one is.

    What a member publishes on its way depends on the time that it takes, so it is
    passed on and decides about nothing.
    """

    policy: Policy
    publish: Publish
    solution: Solution | None = None
    _value: tuple[Score, int] = field(init=False, default=((), -1))
    _published: Score | None = field(init=False, default=None)

    def pass_on(self, found: Solution) -> None:
        """Publish ``found`` if it is better than what was published before."""
        reached = score(found.packing, found.assignment, self.policy)
        if self._published is None or reached > self._published:
            self._published = reached
            self.publish(found)

    def take(self, found: Solution) -> None:
        """Take ``found`` if it is better, or as good and better proved."""
        reached = score(found.packing, found.assignment, self.policy)
        value = (reached, sum(tier.optimal for tier in found.tiers))
        if value > self._value:
            self.solution, self._value = found, value
        self.pass_on(found)
