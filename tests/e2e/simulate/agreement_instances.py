"""Instances on which the simulation and a real cluster must agree."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.cluster import NodePool
from stowage_testbed.cluster.node_pool import parse_node_specs
from stowage_testbed.helm.release import merge_values
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.model import InstanceSpec

Pod = dict[str, Any]

PRIORITIES = 4
FOLLOWER = "follower"
MIXED: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("mixed.yaml").read_text())
PODS = 24
"""Of a mixed case."""


@dataclass(frozen=True, slots=True)
class Case:
    """One instance: what a cluster is given, object by object."""

    name: str
    pools: tuple[NodePool, ...]
    pods: tuple[Pod, ...]
    objects: tuple[Mapping[str, Any], ...] = ()


def paper_case(seed: int) -> Case:
    """Return a generated instance of the paper's kind, from roomy to overfull."""
    pool, workload = generate(InstanceSpec(seed, 4, 4, PRIORITIES, usage=0.9 + seed % 4 / 20))
    pods = [
        make_pod(f"{drawn.name}-{i}", drawn.requests.quantities(), drawn.priority)
        for drawn in workload
        for i in range(drawn.replicas)
    ]
    return Case(f"paper-{seed}", (pool,), tuple(pods))


def mixed_case(seed: int) -> Case:
    """Return an instance whose pods use every kind of constraint there is."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    pods: dict[int, Pod] = {}
    follower, leader, held_back = sorted(draw.sample(range(PODS), 3))
    extra = {leader: [MIXED["leader"]], held_back: [MIXED["held-back"]]}
    for number in range(PODS):
        cpu = f"{draw.randrange(100, 2000, 100)}m"
        requests = {"cpu": cpu, "memory": str(draw.randrange(1, 24) * 2**27)}
        changes = [draw.choice(ways) for ways in draw.sample(MIXED["changes"], draw.randrange(3))]
        words = {
            "APP": draw.choice("abc"),
            "OTHER": draw.choice("abc"),
            "ZONE": draw.choice(("east", "west")),
            "WEIGHT": draw.randrange(1, 100),
            "CPU": cpu,
        }
        priority = 1 + draw.randrange(PRIORITIES)
        changes += [{"metadata": {"labels": {"app": "APP"}}}, *extra.get(number, ())]
        pods[number] = make_pod(f"pod-{number:02}", requests, priority, *_filled_in(changes, words))
    small = {"cpu": "100m", "memory": str(2**27)}
    pods[follower] = make_pod(FOLLOWER, small, 1, MIXED["follower"])
    pools = tuple(parse_node_specs(MIXED["nodes"]))
    return Case(f"mixed-{seed}", pools, tuple(pods.values()), (MIXED["service"],) * (seed % 2))


def _filled_in(value: Any, words: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled_in(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled_in(inner, words) for inner in value]
    return words.get(value, value) if isinstance(value, str) else value


def make_pod(name: str, requests: Mapping[str, str], priority: int, *changes: dict[str, Any]) -> Pod:
    """Return a pod; what a change limits it asks for by the limit alone."""
    made: Pod = {
        "metadata": {"name": name, "labels": {}},
        "spec": {"priorityClassName": f"p{priority}", "terminationGracePeriodSeconds": 0},
        "container": {"name": "c", "image": "image", "resources": {}},
    }
    for change in changes:
        made = merge_values(made, change)
    container = made.pop("container")
    limits = container["resources"].get("limits", {})
    container["resources"]["requests"] = {key: amount for key, amount in requests.items() if key not in limits}
    made["spec"]["containers"] = [container]
    return made
