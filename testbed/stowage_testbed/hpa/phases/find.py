"""FIND: the first number of clients that breaks the SLA (Algorithm 3)."""

from __future__ import annotations

from stowage_testbed.hpa.model.load_window import LoadWindow
from stowage_testbed.hpa.phases.drive import drive
from stowage_testbed.hpa.phases.load_target import LoadTarget
from stowage_testbed.hpa.settings import RecoverySettings


def find(target: LoadTarget, settings: RecoverySettings) -> tuple[LoadWindow, ...]:
    """Raise the load level by level until the SLA breaks, and return every level.

    The last one's clients are what HOLD continues with: the first number that broke the
    SLA, or the largest there is to try.
    """
    plan = settings.find
    levels: list[LoadWindow] = []
    start_s = target.now_s()
    for clients in (*range(plan.start, plan.most, plan.step), plan.most):
        levels.append(drive(target, settings, clients, start_s, plan.level_s))
        if not levels[-1].ok:
            break
        start_s += plan.level_s
    return tuple(levels)
