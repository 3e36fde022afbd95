"""Nodes by kind: the instance type and how it was bought, the pool, or the size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.quantity import format_cpu
from stowage_testbed.amounts.resources import CPU, MEMORY
from stowage_testbed.defragment.findings import KindBill
from stowage_testbed.defragment.scope import Scope
from stowage_testbed.whatif.prices import INSTANCE_TYPE, POOL, SPOT, capacity_type, first_label

_GIB = 2**30


def kind_of(node: pb.Node, labels: Mapping[str, Any]) -> str:
    """Return a node's kind: ``m5.large spot``, ``pool-a``, ``4 cpu, 16 GiB``."""
    name = first_label(labels, INSTANCE_TYPE) or first_label(labels, POOL)
    if not name:
        has = resources_of(node.allocatable)
        memory = f"{has[MEMORY] / _GIB:.0f} GiB"
        name = f"{format_cpu(has[CPU])} cpu, {memory}"
    return f"{name} {SPOT}" if capacity_type(labels) == SPOT else name


def bills(scope: Scope, kinds: Mapping[str, str], emptied: Iterable[str]) -> tuple[KindBill, ...]:
    """Return the nodes in use by kind, the dearest first; the sum is that of all."""
    gone = frozenset(emptied)
    members = defaultdict[str, set[str]](set)
    for node in scope.used:
        members[kinds[node]].add(node)
    prices = {node.name: node.hourly_price_micros for node in scope.snapshot.nodes}
    found = [
        KindBill(
            kind,
            scope.bill(frozenset(nodes)),
            scope.bill(frozenset(nodes & gone)),
            _same(prices[name] for name in nodes),
        )
        for kind, nodes in members.items()
    ]
    return tuple(sorted(found, key=_dearest))


def _dearest(one: KindBill) -> tuple[int, int, str]:
    return -one.used.hourly_micros, -one.used.nodes, one.kind


def _same(prices: Iterable[int]) -> int | None:
    """Return the price of all; ``None`` if they differ."""
    different = set(prices)
    return different.pop() if len(different) == 1 else None
