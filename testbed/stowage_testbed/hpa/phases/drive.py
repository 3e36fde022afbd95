"""Putting a constant number of clients on a service for a while."""

from __future__ import annotations

from stowage_testbed.hpa.model.load_window import LoadWindow, load_window
from stowage_testbed.hpa.model.web_service import steady_state
from stowage_testbed.hpa.phases.load_target import LoadTarget
from stowage_testbed.hpa.settings import RecoverySettings


def drive(
    target: LoadTarget,
    settings: RecoverySettings,
    clients: int,
    start_s: float,
    duration_s: float,
) -> LoadWindow:
    """Load the target, follow its replicas, and return what the clients saw.

    Parameters
    ----------
    start_s, duration_s
        The window, in seconds of the target's clock; returns at its end.
    """
    end_s = start_s + duration_s
    while target.now_s() < end_s:
        ready = target.ready()
        target.use_cpu(steady_state(settings.service, clients, ready).cpu_milli)
        target.await_change(ready, end_s)
    segments = target.segments(start_s, end_s)
    return load_window(settings.service, settings.sla, clients, start_s, segments)
