"""Filling large clusters: the emptiest node that has room, pod after pod.

What the scheduler's LeastAllocated score does, without its minutes: `simulate` looks
at every node in Go objects, this at two arrays.
"""

from __future__ import annotations

import numpy as np

from stowage_testbed.scenario.model import Scenario


def fill(scenario: Scenario) -> dict[str, str | None]:
    """Return the node of each pod, ``<workload>-<number>``; None where none has room.

    Ties go to the first node in order.
    """
    names = [name for pool in scenario.nodes for name in pool.node_names()]
    size = np.array(
        [
            (pool.cpu_milli, pool.memory_bytes)
            for pool in scenario.nodes
            for _ in range(pool.count)
        ],
        np.int64,
    )
    free = size.copy()
    share = np.ones(len(names))
    placements: dict[str, str | None] = {}
    for workload in scenario.workload:
        wanted = np.array((workload.cpu_milli, workload.memory_bytes), np.int64)
        for number in range(workload.replicas):
            open_to = (free >= wanted).all(axis=1)
            node = int(np.argmax(np.where(open_to, share, -1.0)))
            has_room = bool((free[node] >= wanted).all())
            pod = f"{workload.name}-{number}"
            placements[pod] = names[node] if has_room else None
            if has_room:
                free[node] -= wanted
                share[node] = (free[node] / size[node]).mean()
    return placements
