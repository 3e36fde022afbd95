"""Whether and when a service recovered (second paper, section 5.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stowage_testbed.hpa.model.load_window import LoadWindow

Outcome = Literal["recovered", "no_degradation", "no_recovery_within_hold"]

CENSORED_S = -1.0
"""Stands for a recovery that did not come while anybody looked."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of the service during HOLD.

    Attributes
    ----------
    ttr_s
        From the start of HOLD to the end of the window that made the streak full;
        0 where the service never degraded, -1 where it did not recover.
    """

    outcome: Outcome
    ttr_s: float


def recovery(windows: Sequence[LoadWindow], streak: int) -> Recovery:
    """Read the outcome from the windows of HOLD.

    A service has recovered when it keeps the SLA for ``streak`` windows in a row after
    a window in which it broke. Only the first recovery counts.
    """
    breached, kept = False, 0
    for window in windows:
        if not window.ok:
            breached, kept = True, 0
            continue
        kept += breached
        if kept == streak:
            return Recovery("recovered", window.end_s - windows[0].start_s)
    if breached:
        return Recovery("no_recovery_within_hold", CENSORED_S)
    return Recovery("no_degradation", 0.0)
