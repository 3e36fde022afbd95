"""Decoding nodes."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.faults import Faults
from stowage_optimizer.model.decode.resources import decode_resources
from stowage_optimizer.model.node import Node, Taint, TaintEffect
from stowage_optimizer.model.refusal import Refusal
from stowage_optimizer.model.resources import Resources


def decode_nodes(
    messages: Iterable[pb.Node], faults: Faults
) -> tuple[tuple[Node, ...], tuple[Refusal, ...]]:
    """Return the nodes in their order, and which of them nobody may come to.

    Names must be unique.
    """
    seen: set[str] = set()
    nodes = []
    refusals = []
    for index, message in enumerate(messages):
        where = f"nodes[{index}]"
        faults.require(f"{where}.name", message.name)
        faults.unique(f"{where}.name", "node", seen, message.name)
        own = Faults()
        node = _node(where, message, own)
        if told := faults.set_aside(own):
            # Who runs there stays or leaves; there is room for nobody else.
            node = Node(message.name, Resources(), dict(message.labels), (), True)
            refusals.append(Refusal(f"node {message.name}", "unreadable", told))
        nodes.append(node)
    return tuple(nodes), tuple(refusals)


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
