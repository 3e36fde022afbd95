"""What every stage looks like, and how stages follow each other."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget


class Stage(ABC):
    """One step on the way from a problem to an answer."""

    @abstractmethod
    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return a solution as good as ``known``, with the bounds that hold for it.

        Parameters
        ----------
        budget
            What is left for this stage; what later ones need is taken off already.
        publish
            Called with each better solution on the way.
        """

    def reserve_s(self, budget: TimeBudget) -> float:
        """Return what of ``budget`` the stages before this one do not get."""
        del budget
        return 0.0

    def pass_on(self, found: Solution, budget: TimeBudget) -> Solution | None:
        """Return what of a solution of an earlier stage may be published; or nothing.

        Parameters
        ----------
        budget
            That of this stage.
        """
        del budget
        return found


def run_stages(stages: Sequence[Stage], known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
    """Return what ``stages`` make of ``known``, one after the other."""
    steps: list[tuple[Stage, TimeBudget]] = []
    for stage in reversed(stages):
        steps.insert(0, (stage, budget))
        budget = budget.without(stage.reserve_s(budget))
    for at, (stage, own) in enumerate(steps):
        known = stage.improve(known, own, _through(steps[at + 1 :], publish))
    return known


def _through(later: Sequence[tuple[Stage, TimeBudget]], publish: Publish) -> Publish:
    """Return what publishes what all of the stages ``later`` pass on."""

    def send(found: Solution) -> None:
        passed: Solution | None = found
        for stage, budget in later:
            if passed is not None:
                passed = stage.pass_on(passed, budget)
        if passed is not None:
            publish(passed)

    return send
