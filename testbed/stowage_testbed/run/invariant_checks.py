"""What must hold in every run, as checks beside those that a scenario asks for."""

from __future__ import annotations

from collections.abc import Collection

from stowage_testbed.invariants import History, check
from stowage_testbed.observe.audit import read_audit_entries
from stowage_testbed.observe.source import BUDGETS, PACKING_PLANS, REPLICA_SETS, RESERVATIONS, STATEFUL_SETS
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.scenario.check import CheckResult

WATCHED = (PACKING_PLANS, RESERVATIONS, BUDGETS, REPLICA_SETS, STATEFUL_SETS)
"""What the rules look at beside pods and nodes."""

NAME = "invariants"


def check_invariants(
    context: RunContext, recorder: RunRecorder, allowed: Collection[str] = ()
) -> tuple[CheckResult, ...]:
    """Check a run that has come to rest; every violation of a rule that is not allowed is a failed check."""
    entries = read_audit_entries(context.cluster.audit_log, recorder.audit_start)
    # What was there comes first: a change that was on its way then was stamped earlier.
    changes = sorted(recorder.changes(), key=lambda change: change.receipt)
    violations = check(History((*recorder.there_before, *changes), tuple(entries)))
    broken = tuple(
        CheckResult(NAME, False, "kept", one.rule, one.in_words()) for one in violations if one.rule not in allowed
    )
    return broken or (CheckResult(NAME, True, "kept", "kept"),)
