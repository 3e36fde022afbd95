"""HOLD: constant load, judged window by window (Algorithm 3)."""

from __future__ import annotations

from stowage_testbed.hpa.model.load_window import LoadWindow
from stowage_testbed.hpa.phases.drive import drive
from stowage_testbed.hpa.phases.load_target import LoadTarget
from stowage_testbed.hpa.phases.recovery import recovery
from stowage_testbed.hpa.settings import RecoverySettings


def hold(
    target: LoadTarget, settings: RecoverySettings, clients: int
) -> tuple[LoadWindow, ...]:
    """Hold the load, and return the whole windows that the phase has room for."""
    plan = settings.hold
    start_s = target.now_s()
    windows: list[LoadWindow] = []
    for number in range(int(plan.total_s // plan.window_s)):
        begin_s = start_s + number * plan.window_s
        windows.append(drive(target, settings, clients, begin_s, plan.window_s))
        if not plan.whole and recovery(windows, plan.streak).outcome == "recovered":
            break
    return tuple(windows)
