"""Small snapshots whose nodes have prices."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.node_use import Costs

CORE = 1000


def snapshot_of(
    nodes: Sequence[int], pods: Sequence[tuple[int, str, str]]
) -> pb.Snapshot:
    """Return nodes of so many cores, and pods: cores, node, and why one stays there."""
    made = pb.Snapshot(
        id="s",
        nodes=[
            pb.Node(
                name=f"n{k}", allocatable=pb.Resources(cpu_milli=cores * CORE, pods=9)
            )
            for k, cores in enumerate(nodes)
        ],
        pod_classes=[
            pb.PodClass(
                id=str(cores),
                namespace="ns",
                requests=pb.Resources(cpu_milli=cores * CORE),
            )
            for cores in sorted({cores for cores, _, _ in pods})
        ],
    )
    for k, (cores, node, rule) in enumerate(pods):
        made.pods.add(
            uid=f"p{k}", namespace="ns", name=f"p{k}", class_id=str(cores), node=node,
            movable=bool(node) and not rule, immovable_reason=rule,
        )  # fmt: skip
    return made


def costs(*an_hour: str) -> Costs:
    """Return what the nodes cost in turn; an empty text is no price."""
    priced = {f"n{k}": Decimal(one) for k, one in enumerate(an_hour) if one}
    without = {f"n{k}": "no label" for k, one in enumerate(an_hour) if not one}
    return Costs("USD", priced, without)
