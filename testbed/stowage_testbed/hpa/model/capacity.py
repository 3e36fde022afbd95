"""How many ready replicas keep the SLA."""

from __future__ import annotations

from stowage_testbed.hpa.model.load_window import Segment, load_window
from stowage_testbed.hpa.model.sla import Sla
from stowage_testbed.hpa.model.web_service import WebService


def replicas_needed(
    service: WebService, sla: Sla, clients: int, most: int
) -> int | None:
    """Return the fewest replicas, up to ``most``, that keep the SLA for ``clients``.

    ``None`` if even ``most`` do not. More replicas never make it worse, so the first
    that suffice are enough.
    """
    for replicas in range(1, most + 1):
        if load_window(service, sla, clients, 0.0, [Segment(1.0, replicas)]).ok:
            return replicas
    return None
