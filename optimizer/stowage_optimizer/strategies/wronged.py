"""Whom the strict policy forbids to evict: who could stay beside its betters."""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.layout import Layout


def wrongs_anybody(packing: Packing, assignment: Assignment) -> bool:
    """Tell whether somebody is evicted who could stay beside its betters.

    Those are all pods of higher priority, and those of its own that were running.
    """
    layouts: dict[int, Layout] = {}
    for index, item in enumerate(packing.items):
        if item.home is None or assignment[index] is not None:
            continue
        if item.priority not in layouts:
            layouts[item.priority] = _betters(packing, assignment, item.priority)
        beside = layouts[item.priority]
        if any(
            beside.fits(index, node)
            and (node == item.home or beside.welcomes(index, node))
            for node in item.eligible
        ):
            return True
    return False


def _betters(packing: Packing, assignment: Assignment, priority: int) -> Layout:
    """Return who need not make way for ``priority``: those above, and who runs."""
    layout = Layout(packing)
    for index, item in enumerate(packing.items):
        node = assignment[index]
        equal = item.priority == priority and item.home is not None
        if node is not None and (equal or item.priority > priority):
            layout.put(index, node)
    return layout
