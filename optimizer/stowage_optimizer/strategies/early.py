"""A strategy that must end early, since its plan is worked on afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stowage_optimizer.model.options import Clock, Objective, SolveOptions
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.strategy import Answer, Strategy


@dataclass(frozen=True, slots=True)
class Afterwards:
    """What is done to a plan afterwards, and the time that it takes.

    Parameters
    ----------
    least_share
        Part of the time limit that is kept back, at the least.
    pods_per_s
        Pods of a snapshot that are gone through in a second, at the least.
    most_share
        Where going through them takes more of the limit, nothing is done.
    """

    least_share: float
    pods_per_s: float
    most_share: float

    def kept_back_s(self, snapshot: Snapshot, options: SolveOptions) -> float | None:
        """Return the seconds to keep back, None if nothing is done.

        Plans that empty nodes are left as they are.
        """
        if options.objective is Objective.CONSOLIDATE:
            return None
        needed_s = len(snapshot.pods) / self.pods_per_s
        hurry = needed_s > self.most_share * options.time_limit_s
        if hurry and not options.deterministic:
            return None
        return max(self.least_share * options.time_limit_s, needed_s)


def solved_early(
    inner: Strategy,
    kept_back_s: float,
    snapshot: Snapshot,
    options: SolveOptions,
    *,
    clock: Clock,
    publish: Callable[[Plan], None],
) -> tuple[Answer, Callable[[], bool]]:
    """Return the answer of ``inner``, and what returns True when time is up.

    Parameters
    ----------
    inner
        Finds the plan.
    kept_back_s
        Seconds of the limit that it does not get.
    snapshot, options, clock, publish
        As in `Strategy.solve`.
    """
    deadline = clock() + options.time_limit_s
    asked = options
    if not options.deterministic:
        asked = replace(options, time_limit_s=options.time_limit_s - kept_back_s)
    answer = inner.solve(snapshot, asked, clock=clock, publish=publish)

    def stop() -> bool:
        return not options.deterministic and clock() > deadline

    return answer, stop
