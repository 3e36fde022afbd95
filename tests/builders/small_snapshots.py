"""Small random snapshots, in reach of the oracle that tries every assignment."""

from __future__ import annotations

from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb

HUGE = [10**18, 2**63 - 1]
"""Sums of these overflow; pods fill only a little of them."""


@st.composite
def tight_snapshots(draw: st.DrawFn, most_pods: int = 6) -> pb.Snapshot:
    """Full nodes and pods that fit only if others move or go; nothing overcommitted."""
    builder = SnapshotBuilder()
    left = {f"n{index}": draw(st.integers(3, 6)) for index in range(3)}
    for name, cpu_milli in left.items():
        builder.node(name, cpu_milli=cpu_milli)
    for index in range(draw(st.integers(3, most_pods))):
        cpu_milli = draw(st.integers(1, 4))
        fitting = [name for name, room in left.items() if room >= cpu_milli]
        home = draw(st.sampled_from(fitting)) if fitting and index < 4 else ""
        if home:
            left[home] -= cpu_milli
        builder.pod(f"p{index}", cpu_milli=cpu_milli, priority=draw(st.integers(0, 1)), node=home)
    return builder.message


@st.composite
def small_snapshots(draw: st.DrawFn, most_nodes: int = 3, most_pods: int = 6) -> pb.Snapshot:
    """Pods of 3 priorities, some replicas, some fixed, some nodes overcommitted.

    Some nodes have as much as their device plugins claim.
    """
    builder = SnapshotBuilder()
    names = [f"n{index}" for index in range(draw(st.integers(1, most_nodes)))]
    for name in names:
        builder.node(
            name,
            cpu_milli=draw(st.integers(1, 6)),
            memory_bytes=draw(st.integers(2, 8) | st.sampled_from(HUGE)),
            pods=draw(st.integers(1, 4)),
        )
    classes: list[str] = []
    for index in range(draw(st.integers(1, most_pods))):
        # A replica of the pod before, as often as not.
        if not classes or draw(st.booleans()):
            classes.append(f"class-{index}")
            builder.pod_class(
                classes[-1],
                cpu_milli=draw(st.integers(0, 4)),
                memory_bytes=draw(st.integers(1, 5)),
                priority=draw(st.integers(0, 2)),
            )
        builder.pod(
            f"p{index}",
            of=classes[-1],
            node=draw(st.sampled_from(["", "", *names])),
            movable=draw(st.integers(0, 4)) > 0,
        )
    for name in classes:
        if draw(st.integers(0, 5)) == 0:
            builder.message.forbidden_pairs.add(class_id=name, node=draw(st.sampled_from(names)))
    return builder.message
