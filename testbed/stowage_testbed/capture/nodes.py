"""Nodes as kinds with counts: equal ones are told apart by their numbers alone."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import zip_longest
from typing import Any

from stowage_testbed.amounts.resources import PODS, Resources
from stowage_testbed.api.client import Manifest
from stowage_testbed.capture.workloads import HOSTNAME
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.observe.node import read_node

INSTANCE_TYPE = "node.kubernetes.io/instance-type"

OF_CONDITIONS = {
    f"node.kubernetes.io/{name}": f"stowage.dev/{'not-ready' if name == 'unreachable' else name}"
    for name in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
}
"""Taints that the node controller takes off a fake node, whose conditions are good, and what is in their place."""

_ALWAYS = frozenset({ZONE_LABEL, "topology.kubernetes.io/region", "kubernetes.io/arch", INSTANCE_TYPE})
_LONGEST_PREFIX = 40
_ATTACHED = "attachable-volumes-"
_LETTERS = "bcdefghijklmnopqrstuvwxyz"


def capture_nodes(
    nodes: Iterable[Manifest], read_labels: Collection[str]
) -> tuple[tuple[NodePool, ...], dict[str, str], tuple[str, ...]]:
    """Return the nodes folded into kinds, their new names by the old ones, and the new names of those cordoned.

    They have no labels that nothing asks about and not every cluster has.
    """
    alike = defaultdict[tuple[Any, ...], list[tuple[str, str]]](list)
    closed = set[str]()
    for body in sorted(nodes, key=lambda one: str(one["metadata"]["name"])):
        name, node = str(body["metadata"]["name"]), read_node(body)
        labels = {
            key: value
            for key, value in node.labels.items()
            if key in _ALWAYS or (key in read_labels and key != HOSTNAME)
        }
        zone = labels.pop(ZONE_LABEL, "")
        offered = {key: amount for key, amount in node.allocatable.items() if not key.startswith(_ATTACHED)}
        # Amounts of nothing are no offer.
        room = Resources({key: size for key, size in Resources.of_list(offered).items() if size or key == PODS})
        alike[tuple(sorted(labels.items())), _read_taints(node.taints), room].append((name, zone))
        if node.unschedulable:
            closed.add(name)
    pools, names = list[NodePool](), dict[str, str]()
    for (labels, taints, room), ones in alike.items():
        for zones, members in _deal_zones(ones):
            pool = NodePool(
                name_prefix=_choose_prefix(dict(labels), members, pools),
                count=len(members),
                resources=room,
                labels=dict(labels),
                taints=taints,
                zones=zones,
            )
            pools.append(pool)
            names |= dict(zip(members, pool.node_names(), strict=True))
    return tuple(pools), names, tuple(sorted(names[one] for one in closed))


def _read_taints(taints: Iterable[Mapping[str, Any]]) -> tuple[Taint, ...]:
    found = {
        # What runs there is to stay, also where a node is silent.
        Taint(OF_CONDITIONS[one["key"]], "NoSchedule")
        if one["key"] in OF_CONDITIONS
        else Taint(one["key"], one["effect"], one.get("value", ""))
        for one in taints
    }
    return tuple(sorted(found, key=lambda one: (one.key, one.effect, one.value)))


def _deal_zones(ones: Iterable[tuple[str, str]]) -> Iterable[tuple[tuple[str, ...], list[str]]]:
    """Return zones and nodes of each kind: one with all zones if they can be dealt."""
    by_zone = defaultdict[str, list[str]](list)
    for name, zone in ones:
        by_zone[zone].append(name)
    # Dealt out in turn, the last round may not reach all of them.
    zones = sorted(by_zone, key=lambda zone: (-len(by_zone[zone]), zone))
    most, least = len(by_zone[zones[0]]), len(by_zone[zones[-1]])
    if "" not in by_zone and most - least <= 1:
        rounds = zip_longest(*(by_zone[zone] for zone in zones))
        return [(tuple(zones), [name for one in rounds for name in one if name])]
    return [((zone,) if zone else (), by_zone[zone]) for zone in zones]


def _choose_prefix(labels: Mapping[str, str], members: list[str], pools: Iterable[NodePool]) -> str:
    """Return what a kind of node is called: by its type, or by what names share."""
    word = labels.get(INSTANCE_TYPE) or os.path.commonprefix(members)  # noqa: RUF071 - as texts
    if len(members) == 1 and INSTANCE_TYPE not in labels:
        word = re.sub(r"[-0-9]+$", "", word)
    plain = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:_LONGEST_PREFIX]
    prefix = plain.strip("-") or "node"
    taken = {pool.name_prefix for pool in pools}
    # With a number a prefix would look like a node's name.
    letters = (*_LETTERS, *(one + other for one in _LETTERS for other in _LETTERS))
    return next(one for one in (prefix, *(f"{prefix}-{letter}" for letter in letters)) if one not in taken)
