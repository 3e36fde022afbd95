"""Whether pods are where they may be: counted again, without the scheduler's code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import starmap

from benchmarks.score_cache.workload import ZONE_KEY, Manifest
from stowage_testbed.quantity import parse_cpu, parse_memory
from stowage_testbed.simulate import Instance

Amount = tuple[int, int, int]
"""Milli-CPU, bytes, pods."""


def violations(instance: Instance, nodes: Mapping[str, str | None]) -> int:
    """Return how many nodes are overfull and how many constraints are broken.

    Parameters
    ----------
    instance
        Nodes and pods as `Case.instance` makes them: one container a pod, and at most
        one constraint, over zones, that is the same for all.
    nodes
        The node of each pod, by ``namespace/name``; None if it is pending.
    """
    placed: dict[str, list[Manifest]] = defaultdict(list)
    for pod in instance.pods:
        node = nodes[f"default/{pod['metadata']['name']}"]
        if node:
            placed[node].append(dict(pod))
    overfull = sum(
        not _fits(placed[node["metadata"]["name"]], node["status"]["capacity"])
        for node in instance.nodes
    )
    return overfull + _skewed(instance, placed)


def _fits(pods: Iterable[Manifest], capacity: Mapping[str, str]) -> bool:
    demand = tuple(starmap(_sum, zip(*map(_amount, pods), strict=True)))
    room = (*_resources(capacity), int(capacity["pods"]))
    return all(asked <= given for asked, given in zip(demand, room, strict=False))


def _sum(*values: int) -> int:
    return sum(values)


def _amount(pod: Manifest) -> Amount:
    return (*_resources(pod["spec"]["containers"][0]["resources"]["requests"]), 1)


def _resources(given: Mapping[str, str]) -> tuple[int, int]:
    return parse_cpu(given["cpu"]), parse_memory(given["memory"])


def _skewed(instance: Instance, placed: Mapping[str, list[Manifest]]) -> int:
    constraints = instance.pods[0]["spec"].get("topologySpreadConstraints")
    if not constraints:
        return 0
    zones: Counter[str] = Counter()
    for node in instance.nodes:
        zones[node["metadata"]["labels"][ZONE_KEY]] += len(
            placed[node["metadata"]["name"]]
        )
    (constraint,) = constraints
    skew: int = max(zones.values()) - min(zones.values())
    return int(skew > constraint["maxSkew"])
