"""At most one plan is live, and none is left open."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.invariants.history import History
from testbed.invariants.violation import Violation
from testbed.observe.change import Change, Verb
from testbed.observe.plan import observed_plan

LIVE = frozenset({"Solving", "Executing"})


def one_live_plan(history: History) -> Iterator[Violation]:
    """Yield the moments at which a plan began while another one was live."""
    phases: dict[str, str] = {}
    for change in history.of("PackingPlan"):
        before = phases.pop(change.name, "")
        if change.verb is Verb.DELETED:
            continue
        phase = (change.body.get("status") or {}).get("phase", "")
        others = [name for name, other in phases.items() if other in LIVE]
        if phase in LIVE and before not in LIVE and others:
            yield Violation(
                "one-live-plan",
                change.name,
                f"{phase} while {', '.join(sorted(others))} was live",
                change.receipt.wall_text(),
            )
        phases[change.name] = phase


def shows_a_plan(change: Change) -> bool:
    """Tell whether a change shows a plan of this run.

    One that goes, or was over before anybody looked, may be of an earlier run.
    """
    if change.kind != "PackingPlan" or change.verb is Verb.DELETED:
        return False
    return change.verb is not Verb.LISTED or not observed_plan(change.body).finished


def no_plan_left_open(history: History) -> Iterator[Violation]:
    """Yield plans that have not ended although the run has come to rest."""
    for body in history.present("PackingPlan").values():
        plan = observed_plan(body)
        if not plan.finished:
            phase = plan.phase or "not taken up"
            yield Violation("plan-left-open", plan.name, f"it is still {phase}")
