"""Whether one cluster state is at least as good as another, tier by tier."""

from __future__ import annotations

from collections.abc import Mapping


def not_worse(before: Mapping[int, int], after: Mapping[int, int]) -> bool:
    """Return whether ``after`` places at least as well as ``before``.

    Both map a priority to its number of bound pods. Compared from the highest priority
    down: the first priority whose numbers differ decides, as in the order of the
    tiers of Algorithm 1.
    """
    priorities = sorted({*before, *after}, reverse=True)
    return [after.get(priority, 0) for priority in priorities] >= [
        before.get(priority, 0) for priority in priorities
    ]
