"""How long a pod of a recorded run waited for a node, and how long it held one."""

from __future__ import annotations

from stowage_testbed.metrics.record import PodRecord

Span = tuple[float, float]
"""Begin and end in seconds from the window's start."""


def bound_from_s(pod: PodRecord) -> float | None:
    """Return since when the pod has had its node; ``None`` for one that never had.

    A pod that was bound before the window began has had it since the window's start.
    """
    if pod.bound_s is not None:
        return pod.bound_s
    return (pod.created_s or 0.0) if pod.node else None


def waiting_span(pod: PodRecord, window_s: float) -> Span | None:
    """Return when the pod had no node, as far as the window shows it.

    From its creation to its binding; a pod that left unbound waited until then, and one
    that is still there until the window's end.
    """
    end_s = bound_from_s(pod)
    if end_s is None:
        end_s = window_s if pod.gone_s is None else pod.gone_s
    begin_s = pod.created_s or 0.0
    return (begin_s, end_s) if end_s > begin_s else None


def placed_span(pod: PodRecord, window_s: float) -> Span | None:
    """Return when the pod held room on its node, as far as the window shows it."""
    begin_s = bound_from_s(pod)
    if begin_s is None:
        return None
    end_s = window_s if pod.gone_s is None else pod.gone_s
    return (begin_s, end_s) if end_s > begin_s else None
