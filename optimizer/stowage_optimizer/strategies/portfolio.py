"""`portfolio`: several strategies one after the other; the best answer counts.

The quick ones come first, so that something good is there early. The others get what
one leaves of its time, and none runs once an answer is proved optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Clock, Policy, SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.plan import EndReason, Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.reading import assignment_of
from stowage_optimizer.strategies.reduced import reduced
from stowage_optimizer.strategies.strategy import Answer, Strategy, end_reason_of

MEMBERS = ("first-fit-decreasing", "lexicographic", "cpsat-aggregated", "paper")
"""The members, in this order; those that are not installed are skipped."""


def portfolio_of(strategies: Mapping[str, Strategy]) -> Strategy:
    """Return the portfolio of those `MEMBERS` that ``strategies`` holds."""
    return Portfolio(tuple(strategies[name] for name in MEMBERS if name in strategies))


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Runs its members in turn.

    Parameters
    ----------
    members
        The strategies; each gets an equal part of the time that is left.
    """

    members: tuple[Strategy, ...]

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the best answer of any member; see `Strategy.solve`."""
        deadline = clock() + options.time_limit_s
        best = _Best(reduced(snapshot), options.policy, publish)
        answer = Answer(Plan(snapshot.id), EndReason.NO_IMPROVEMENT)
        for asked, member in enumerate(self.members):
            share = options.time_limit_s
            if not options.deterministic:
                share = max(0.0, deadline - clock())
            share /= len(self.members) - asked
            answer = member.solve(
                snapshot,
                replace(options, time_limit_s=share),
                clock=clock,
                publish=best.take,
            )
            best.take(answer.plan)
            if answer.plan.optimal:
                break
        plan = best.plan or answer.plan
        return replace(answer, plan=plan, end_reason=end_reason_of(plan))


@dataclass(slots=True)
class _Best:
    """The best plan of any member."""

    packing: Packing
    policy: Policy
    publish: Callable[[Plan], None]
    plan: Plan | None = None
    _value: tuple[Score, int] = field(init=False, default=((), -1))

    def take(self, plan: Plan) -> None:
        """Take ``plan`` if it is better, or as good and better proved."""
        reached = score(self.packing, assignment_of(self.packing, plan), self.policy)
        value = (reached, sum(tier.optimal for tier in plan.tiers))
        if value <= self._value:
            return
        better = reached > self._value[0] or self.plan is None
        self.plan, self._value = plan, value
        if better:
            self.publish(plan)
