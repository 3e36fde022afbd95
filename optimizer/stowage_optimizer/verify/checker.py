"""Every rule, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.anti_affinity import check_anti_affinity
from stowage_optimizer.verify.capacity import check_capacity
from stowage_optimizer.verify.case import Case, Index
from stowage_optimizer.verify.eligibility import check_eligibility
from stowage_optimizer.verify.emptied import check_nodes_in_use
from stowage_optimizer.verify.limits import check_gains, check_limits
from stowage_optimizer.verify.movability import (
    check_budgets,
    check_movability,
    check_unverifiable,
)
from stowage_optimizer.verify.order import check_order
from stowage_optimizer.verify.policy import check_policy
from stowage_optimizer.verify.ports import check_ports
from stowage_optimizer.verify.references import (
    check_origins,
    check_references,
    check_snapshot,
    check_snapshot_id,
)
from stowage_optimizer.verify.tiers import check_bounds, check_tiers
from stowage_optimizer.verify.violation import Violation
from stowage_optimizer.verify.worth import check_worth

Rule = Callable[[Case], Iterator[Violation]]

NAMES: tuple[Rule, ...] = (check_snapshot_id, check_references)
"""Rules that must hold before the others can even look, as the snapshot's own must."""

RULES: tuple[Rule, ...] = (
    check_origins,
    check_capacity,
    check_eligibility,
    check_ports,
    check_anti_affinity,
    check_order,
    check_movability,
    check_budgets,
    check_unverifiable,
    check_policy,
    check_tiers,
    check_bounds,
    check_worth,
    check_nodes_in_use,
    check_limits,
    check_gains,
)


class Checker:
    """Checks plans for one snapshot, which is looked through only once.

    Parameters
    ----------
    snapshot
        The snapshot that the plans answer.
    policy
        The policy that the caller asked for.
    asked
        The other options of the request; without them a plan is to place pods, and
        may disrupt as many as it likes.
    """

    def __init__(
        self,
        snapshot: pb.Snapshot,
        policy: pb.Policy,
        asked: pb.SolveOptions | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._asked = asked or pb.SolveOptions()
        self._index = Index(snapshot)
        self._unfit = list(check_snapshot(self._case(pb.Plan())))

    def violations(
        self, plan: pb.Plan, stop: Callable[[], bool] = lambda: False
    ) -> list[Violation] | None:
        """Return everything that is wrong with ``plan``.

        None if ``stop``, which is called between two rules, returned True before the
        end.
        """
        case = self._case(plan)
        broken = self._unfit + [one for rule in NAMES for one in rule(case)]
        if broken:
            return broken
        for rule in RULES:
            if stop():
                return None
            broken += rule(case)
        return broken

    def _case(self, plan: pb.Plan) -> Case:
        return Case(self._snapshot, plan, self._policy, self._asked, self._index)


def verify_plan(
    snapshot: pb.Snapshot,
    plan: pb.Plan,
    policy: pb.Policy,
    asked: pb.SolveOptions | None = None,
) -> list[Violation]:
    """Return everything that is wrong with ``plan``; nothing if it may be carried out.

    The parameters are those of `Checker`.
    """
    return Checker(snapshot, policy, asked).violations(plan) or []
