"""All rules, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_testbed.invariants.budget import no_budget_broken
from stowage_testbed.invariants.capacity import no_overcommit
from stowage_testbed.invariants.eviction_rules import evicted_once, no_protected_pod_evicted, planned_evictions
from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.invariants.reserved import no_plan_room_taken, no_room_left_held, reservations_balance
from stowage_testbed.invariants.settled import never_fewer_placed, no_plan_left_open, no_pod_lost, one_live_plan

Rule = Callable[[History], Iterator[Violation]]

RULES: tuple[Rule, ...] = (
    no_overcommit,
    no_budget_broken,
    no_protected_pod_evicted,
    planned_evictions,
    evicted_once,
    no_pod_lost,
    never_fewer_placed,
    reservations_balance,
    no_plan_room_taken,
    no_room_left_held,
    one_live_plan,
    no_plan_left_open,
)


def check(history: History) -> list[Violation]:
    """Return every violation, rule by rule."""
    return [violation for rule in RULES for violation in rule(history)]
