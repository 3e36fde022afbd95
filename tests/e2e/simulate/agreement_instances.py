"""Instances on which the simulation and a real cluster must agree."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amounts import asked, size

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.cluster import NodePool, Taint
from stowage_testbed.scenario.instances import generate

Pod = dict[str, Any]
Change = Callable[[random.Random, Pod], None]

PRIORITIES = 4
LEADER = "leader"
FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class Case:
    """One instance: what a cluster is given, object by object."""

    name: str
    pools: tuple[NodePool, ...]
    pods: tuple[Pod, ...]
    objects: tuple[Mapping[str, Any], ...] = ()


def paper_case(seed: int) -> Case:
    """Return a generated instance of the paper's kind, from roomy to overfull."""
    instance = generate(
        seed, nodes=4, pods_per_node=4, priorities=PRIORITIES, usage=0.9 + seed % 4 / 20
    )
    pods = [
        pod(f"{drawn.name}-{i}", drawn.requests, drawn.priority)
        for drawn in instance.workload
        for i in range(drawn.replicas)
    ]
    return Case(f"paper-{seed}", (instance.node_pool(),), tuple(pods))


def mixed_case(seed: int) -> Case:
    """Return an instance whose pods use every kind of constraint there is."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    pods = [_mixed_pod(draw, i) for i in range(24)]
    # One pod waits for a later one.
    follower, leader, held_back = sorted(draw.sample(range(24), 3))
    pods[follower] = _follower()
    pods[leader]["metadata"]["labels"]["role"] = LEADER
    _hold_back(pods[held_back])
    return Case(
        f"mixed-{seed}", _mixed_pools(), tuple(pods), (_service(),) * (seed % 2)
    )


def pod(name: str, requests: Resources, priority: int) -> Pod:
    container = {
        "name": "c",
        "image": "image",
        "resources": {"requests": requests.quantities()},
    }
    return {
        "metadata": {"name": name, "labels": {}},
        "spec": {
            "containers": [container],
            "priorityClassName": f"p{priority}",
            "terminationGracePeriodSeconds": 0,
        },
    }


def _mixed_pools() -> tuple[NodePool, ...]:
    gib = 2**30
    gpu = Taint("example.com/gpu", "NoSchedule", "yes")
    old = Taint("example.com/old", "PreferNoSchedule")
    zones = ("east", "west")
    return (
        NodePool("disk", 2, size(4000, 8 * gib), labels={"disk": "ssd"}, zones=zones),
        NodePool("plain", 2, size(6000, 8 * gib), taints=(old,), zones=zones),
        NodePool(
            "gpu",
            2,
            size(8000, 16 * gib, more={"example.com/gpu": 2}),
            taints=(gpu,),
            zones=zones,
        ),
    )


def _mixed_pod(draw: random.Random, number: int) -> Pod:
    made = pod(
        f"pod-{number:02}",
        asked(draw.randrange(100, 2000, 100), draw.randrange(1, 24) * 2**27),
        1 + draw.randrange(PRIORITIES),
    )
    made["metadata"]["labels"]["app"] = draw.choice("abc")
    for change in draw.sample(_CHANGES, draw.randrange(3)):
        change(draw, made)
    return made


def _select_disk(_: random.Random, made: Pod) -> None:
    made["spec"]["nodeSelector"] = {"disk": "ssd"}


def _prefer_zone(draw: random.Random, made: Pod) -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In"}
    term = {"matchExpressions": [{**zone, "values": [draw.choice(("east", "west"))]}]}
    preferred = {"weight": draw.randrange(1, 100), "preference": term}
    made["spec"].setdefault("affinity", {})["nodeAffinity"] = {
        "preferredDuringSchedulingIgnoredDuringExecution": [preferred]
    }


def _want_gpu(draw: random.Random, made: Pod) -> None:
    made["spec"]["tolerations"] = [{"key": "example.com/gpu", "operator": "Exists"}]
    if draw.random() < 0.5:
        resources = made["spec"]["containers"][0]["resources"]
        resources["limits"] = {"example.com/gpu": "1"}


def _spread_softly(draw: random.Random, made: Pod) -> None:
    made["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": draw.choice(
                ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
            ),
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": _app(made)},
        }
    ]


def _spread_strictly(draw: random.Random, made: Pod) -> None:
    _spread_softly(draw, made)
    made["spec"]["topologySpreadConstraints"][0] |= {
        "whenUnsatisfiable": "DoNotSchedule",
        "maxSkew": 2,
    }
    _wait_in_line(made)


def _wait_in_line(made: Pod) -> None:
    """Give all pods that a later pod may wake one priority.

    The scheduler tries what it has woken by the second of the last failure, then by
    priority: with different ones, the order would depend on the time.
    """
    made["spec"]["priorityClassName"] = "p1"


def _avoid_own_kind(_: random.Random, made: Pod) -> None:
    made["spec"].setdefault("affinity", {})["podAntiAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [_term(_app(made))]
    }


def _prefer_company(draw: random.Random, made: Pod) -> None:
    other = {"app": draw.choice("abc")}
    kind = draw.choice(("podAffinity", "podAntiAffinity"))
    preferred = {"weight": draw.randrange(1, 100), "podAffinityTerm": _term(other)}
    made["spec"].setdefault("affinity", {})[kind] = {
        "preferredDuringSchedulingIgnoredDuringExecution": [preferred]
    }


def _take_port(_: random.Random, made: Pod) -> None:
    ports = [{"containerPort": 8080, "hostPort": 8080}]
    made["spec"]["containers"][0]["ports"] = ports


def _limit_only(_: random.Random, made: Pod) -> None:
    resources = made["spec"]["containers"][0]["resources"]
    resources.setdefault("limits", {})["cpu"] = resources["requests"].pop("cpu")


def _run_init_container(draw: random.Random, made: Pod) -> None:
    requests = {"cpu": f"{draw.randrange(500, 3000, 500)}m"}
    made["spec"]["initContainers"] = [
        {
            "name": "init",
            "image": "image",
            "resources": {"requests": requests},
        }
    ]


def _hold_back(made: Pod) -> None:
    made["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]


_CHANGES: tuple[Change, ...] = (
    _select_disk,
    _prefer_zone,
    _want_gpu,
    _spread_softly,
    _spread_strictly,
    _avoid_own_kind,
    _prefer_company,
    _take_port,
    _limit_only,
    _run_init_container,
)


def _follower() -> Pod:
    made = pod(FOLLOWER, asked(100, 2**27), 1)
    made["spec"]["affinity"] = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [_term({"role": LEADER})]
        }
    }
    return made


def _term(labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": dict(labels)},
    }


def _app(made: Pod) -> dict[str, str]:
    return {"app": made["metadata"]["labels"]["app"]}


def _service() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "app-a", "namespace": "default"},
        "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]},
    }
