"""Any strategy, with ties between equal plans broken by what pods prefer.

The pods that the last plan places, moves and displaces stay the same; only their nodes
may change. So all that is proved of the plan stays proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stowage_optimizer.constraints.preferences import has_preferences
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.early import Afterwards, solved_early
from stowage_optimizer.strategies.preferring.improving import Improver
from stowage_optimizer.strategies.reading import assignment_of
from stowage_optimizer.strategies.strategy import Answer, Strategy

LOOKING = Afterwards(least_share=0.05, pods_per_s=15_000, most_share=0.3)
"""Looking through the pods. Where it takes too much of the limit, preferences are left
alone."""


@dataclass(frozen=True, slots=True)
class Preferring:
    """A strategy whose last plan meets preferences as well as an equal one can.

    Parameters
    ----------
    inner
        Finds the plans. Those that empty nodes are left as they are: another node
        would have to be one that is in use.
    """

    inner: Strategy

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return an equal plan that pods prefer; see `Strategy.solve`."""
        kept_back_s = LOOKING.kept_back_s(snapshot, options)
        if kept_back_s is None or not has_preferences(snapshot):
            return self.inner.solve(snapshot, options, clock=clock, publish=publish)
        answer, stop = solved_early(
            self.inner, kept_back_s, snapshot, options, clock=clock, publish=publish
        )
        if answer.plan.empty or stop():
            return answer
        packing = reduce_snapshot(snapshot, relations=True)
        wanted = assignment_of(packing, answer.plan)
        better = Improver(snapshot, packing, options.policy, wanted, stop).improved()
        if better == wanted:
            return answer
        plan = _redirected(answer.plan, packing, better)
        publish(plan)
        return replace(answer, plan=plan)


def _redirected(plan: Plan, packing: Packing, assignment: Assignment) -> Plan:
    """Return ``plan`` with the nodes of ``assignment``."""
    node_of = {
        item.pod_uid: packing.node_names[node]
        for item, node in zip(packing.items, assignment, strict=True)
        if node is not None
    }
    return replace(
        plan,
        placements=tuple(
            replace(one, node=node_of[one.pod_uid]) for one in plan.placements
        ),
        moves=tuple(replace(one, to_node=node_of[one.pod_uid]) for one in plan.moves),
    )
