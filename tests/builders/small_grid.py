"""A cluster as in the paper's grid: nearly all asked for, and not all of it placed."""

from __future__ import annotations

import random

from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb

NODES, PODS_PER_NODE = 6, 6
ROOM = 3400


def crowded(seed: int, nodes: int = NODES) -> pb.Snapshot:
    """Return a snapshot with two priorities and pods that wait."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    builder = SnapshotBuilder()
    left = {f"n{index}": [ROOM, ROOM] for index in range(nodes)}
    for name in left:
        builder.node(name, cpu_milli=ROOM, memory_bytes=ROOM)
    for index in range(nodes * PODS_PER_NODE):
        asked = [draw.randint(100, 1000), draw.randint(100, 1000)]
        name = max(left, key=lambda node: min(left[node]))
        home = (
            name if all(a <= b for a, b in zip(asked, left[name], strict=True)) else ""
        )
        if home:
            left[home] = [b - a for a, b in zip(asked, left[home], strict=True)]
        builder.pod(
            f"p{index}",
            cpu_milli=asked[0],
            memory_bytes=asked[1],
            priority=draw.randint(0, 1),
            node=home,
        )
    return builder.message
