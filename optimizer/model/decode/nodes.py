"""Decoding nodes."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.decode.faults import Faults
from optimizer.model.decode.resources import decode_resources
from optimizer.model.node import Node, Taint, TaintEffect


def decode_nodes(messages: Iterable[pb.Node], faults: Faults) -> tuple[Node, ...]:
    """Return the nodes in their order; names must be unique."""
    seen: set[str] = set()
    nodes = []
    for index, message in enumerate(messages):
        where = f"nodes[{index}]"
        faults.require(f"{where}.name", message.name)
        faults.unique(f"{where}.name", "node", seen, message.name)
        nodes.append(_node(where, message, faults))
    return tuple(nodes)


def _node(where: str, message: pb.Node, faults: Faults) -> Node:
    return Node(
        name=message.name,
        allocatable=decode_resources(
            f"{where}.allocatable", message.allocatable, faults
        ),
        labels=dict(message.labels) if len(message.labels) else {},
        taints=tuple(
            _taint(f"{where}.taints[{index}]", taint, faults)
            for index, taint in enumerate(message.taints)
        ),
        unschedulable=message.unschedulable,
    )


def _taint(where: str, message: pb.Taint, faults: Faults) -> Taint:
    return Taint(
        key=faults.require(f"{where}.key", message.key),
        value=message.value,
        effect=faults.member(
            f"{where}.effect", message.effect, TaintEffect, TaintEffect.NO_SCHEDULE
        ),
    )
