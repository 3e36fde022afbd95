"""Topology domains: nodes that carry the same value of a label."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_optimizer.model.node import Node
from stowage_optimizer.model.relations import NO_DOMAIN


def domains(nodes: Sequence[Node], key: str) -> tuple[str | None, ...]:
    """Return the domain of each node, None where the label ``key`` is missing."""
    return tuple(node.labels.get(key) for node in nodes)


def numbered(nodes: Sequence[Node], key: str) -> tuple[int, ...]:
    """Return the number of each node's domain, `NO_DOMAIN` where it has none."""
    numbers: dict[str, int] = {}
    return tuple(
        NO_DOMAIN if domain is None else numbers.setdefault(domain, len(numbers))
        for domain in domains(nodes, key)
    )


def each_its_own(nodes: Sequence[Node], key: str) -> bool:
    """Return whether no two nodes share a domain, as with host names."""
    values = [value for value in domains(nodes, key) if value is not None]
    return len(values) == len(set(values))
