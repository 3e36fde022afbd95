"""Every rule, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from optimizer.contract import optimizer_pb2 as pb
from optimizer.verify.apart import check_apart
from optimizer.verify.capacity import check_capacity
from optimizer.verify.case import Case
from optimizer.verify.eligibility import check_eligibility
from optimizer.verify.limits import check_gains, check_limits
from optimizer.verify.movability import (
    check_budgets,
    check_movability,
    check_unverifiable,
)
from optimizer.verify.order import check_order
from optimizer.verify.policy import check_policy
from optimizer.verify.ports import check_ports
from optimizer.verify.references import (
    check_origins,
    check_references,
    check_snapshot,
    check_snapshot_id,
)
from optimizer.verify.tiers import check_bounds, check_tiers
from optimizer.verify.violation import Violation
from optimizer.verify.worth import check_worth

Rule = Callable[[Case], Iterator[Violation]]

NAMES: tuple[Rule, ...] = (check_snapshot, check_snapshot_id, check_references)
"""Rules that must hold before the others can even look."""

RULES: tuple[Rule, ...] = (
    check_origins,
    check_capacity,
    check_eligibility,
    check_ports,
    check_apart,
    check_order,
    check_movability,
    check_budgets,
    check_unverifiable,
    check_policy,
    check_tiers,
    check_bounds,
    check_worth,
    check_limits,
    check_gains,
)


def verify_plan(
    snapshot: pb.Snapshot,
    plan: pb.Plan,
    policy: pb.Policy,
    asked: pb.SolveOptions | None = None,
) -> list[Violation]:
    """Return everything that is wrong with ``plan``; nothing if it may be carried out.

    Parameters
    ----------
    snapshot
        The snapshot that the plan answers.
    plan
        The plan.
    policy
        The policy that the caller asked for.
    asked
        The other options of the request; without them the plan is to place pods, and
        may disturb as many as it likes.
    """
    case = Case(snapshot, plan, policy, asked or pb.SolveOptions())
    broken = [violation for rule in NAMES for violation in rule(case)]
    if broken:
        return broken
    return [violation for rule in RULES for violation in rule(case)]
