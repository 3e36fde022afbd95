"""Decoding nodes."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.resources import decode_resources
from stowage_optimizer.model.node import Node, Taint, TaintEffect
from stowage_optimizer.model.refusal import Refusal
from stowage_optimizer.model.resources import Resources


def decode_nodes(
    messages: Iterable[pb.Node], issues: Issues
) -> tuple[tuple[Node, ...], tuple[Refusal, ...]]:
    """Return the nodes in their order, and those that no pod may come to.

    Names must be unique.
    """
    seen: set[str] = set()
    nodes = []
    refusals = []
    for index, message in enumerate(messages):
        where = f"nodes[{index}]"
        issues.require(f"{where}.name", message.name)
        issues.unique(f"{where}.name", "node", seen, message.name)
        own = Issues()
        node = _node(where, message, own)
        if summary := issues.set_aside(own):
            # Pods that run there stay or leave; no other pod may come.
            node = Node(message.name, Resources(), dict(message.labels), (), True)
            refusals.append(Refusal(f"node {message.name}", "unreadable", summary))
        nodes.append(node)
    return tuple(nodes), tuple(refusals)


def _node(where: str, message: pb.Node, issues: Issues) -> Node:
    return Node(
        name=message.name,
        allocatable=decode_resources(
            f"{where}.allocatable", message.allocatable, issues
        ),
        labels=dict(message.labels) if len(message.labels) else {},
        taints=tuple(
            _taint(f"{where}.taints[{index}]", taint, issues)
            for index, taint in enumerate(message.taints)
        ),
        unschedulable=message.unschedulable,
    )


def _taint(where: str, message: pb.Taint, issues: Issues) -> Taint:
    return Taint(
        key=issues.require(f"{where}.key", message.key),
        value=message.value,
        effect=issues.member(
            f"{where}.effect", message.effect, TaintEffect, TaintEffect.NO_SCHEDULE
        ),
    )
