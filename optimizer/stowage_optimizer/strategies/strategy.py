"""What every strategy looks like from outside."""

from typing import Protocol

from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget


class Strategy(Protocol):
    """Finds solutions of packing problems: the first stage of every answer.

    One with a true property ``is_self_contained`` keeps the relations between pods and
    disrupts none, so that there is nothing to limit: no further stage follows. Another
    plan that places as many would not be its plan.
    """

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return the best solution found within ``budget``.

        Parameters
        ----------
        publish
            Called with each better solution. The first call may pass one without
            changes, so that its bounds are known. If the strategy overruns and is
            stopped from outside, the last solution published counts.
        """
        ...
