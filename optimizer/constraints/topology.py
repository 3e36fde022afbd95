"""Topology domains: nodes that carry the same value of a label."""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.model.node import Node


def domains(nodes: Sequence[Node], key: str) -> tuple[str | None, ...]:
    """Return the domain of each node, None where the label ``key`` is missing."""
    return tuple(node.labels.get(key) for node in nodes)


def each_its_own(nodes: Sequence[Node], key: str) -> bool:
    """Tell whether no two nodes share a domain, as with host names."""
    values = [value for value in domains(nodes, key) if value is not None]
    return len(values) == len(set(values))
