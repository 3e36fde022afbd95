"""At most one plan is live, and none is left open."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from stowage_testbed.invariants.history import History
from stowage_testbed.invariants.violation import Violation
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.plan import read_plan

LIVE = frozenset({"Solving", "Executing"})


def one_live_plan(history: History) -> Iterator[Violation]:
    """Yield the moments at which a plan began while another one was live.

    A list shows all plans of one moment: only what it shows together counts.
    """
    live: dict[str, str] = {}
    for receipt, batch in groupby(history.of("PackingPlan"), lambda one: one.receipt):
        before = frozenset(live)
        for change in batch:
            live.pop(change.name, None)
            phase = (change.body.get("status") or {}).get("phase", "")
            if phase in LIVE and change.verb is not Verb.DELETED:
                live[change.name] = phase
        for name in sorted(live.keys() - before):
            if len(live) > 1:
                others = ", ".join(sorted(live.keys() - {name}))
                yield Violation("one-live-plan", name, f"{live[name]} while {others} was live", receipt.wall_text())


def shows_a_plan(change: Change) -> bool:
    """Return whether a change shows a plan of this run.

    One that goes, or was over before anybody looked, may be of an earlier run.
    """
    if change.kind != "PackingPlan" or change.verb is Verb.DELETED:
        return False
    return change.verb is not Verb.LISTED or not read_plan(change.body).finished


def no_plan_left_open(history: History) -> Iterator[Violation]:
    """Yield plans that have not ended although the run has come to rest."""
    for body in history.present("PackingPlan").values():
        plan = read_plan(body)
        if not plan.finished:
            phase = plan.phase or "not taken up"
            yield Violation("plan-left-open", plan.name, f"it is still {phase}")
