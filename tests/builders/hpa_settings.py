"""Settings of recovery runs that take less time than the paper's."""

from __future__ import annotations

from stowage_testbed.hpa.settings import (
    Autoscaling,
    Find,
    Hold,
    RecoverySettings,
    Timing,
)

QUICK = RecoverySettings(
    autoscaling=Autoscaling(scale_up_percent=900, scale_up_period_s=1),
    find=Find(start=6, most=12, step=3, level_s=6.0),
    hold=Hold(total_s=60.0, window_s=5.0, whole=False),
    timing=Timing(resolution_s=10, sync_s=1),
)
"""Short windows, no limit on scaling up, and the shortest periods there are."""
