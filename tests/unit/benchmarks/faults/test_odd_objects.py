"""Odd objects: odd in what they are named for, and in nobody's way."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.faults.odd_objects import (
    NOBODY,
    NOTHING,
    OddPod,
    chosen_of,
    draw_pods,
    oddity_of,
    tame_budget,
    tame_node,
    tame_pod,
)
from stowage_testbed.invariants.selector import Selector
from stowage_testbed.observe.pod_body import allocatable_of, requests_of

PODS = tuple(range(len(chosen_of("Pod"))))
LARGEST_OBJECT_BYTES = 1 << 20


def tamed(number: int) -> OddPod:
    return tame_pod(chosen_of("Pod")[number], "odd", "ns")


def fits_nowhere(spec: dict[str, Any]) -> bool:
    return bool(NOBODY.items() <= spec.get("nodeSelector", {}).items())


@pytest.mark.parametrize("number", PODS)
def test_an_odd_pod_takes_no_memory_of_others(number: int) -> None:
    """It would rightly be in the way of a plan, and the plan's failure show nothing."""
    manifest = tamed(number).manifest

    assert fits_nowhere(manifest["spec"]) or requests_of(manifest).get("memory", 0) == 0


@pytest.mark.parametrize("number", PODS)
def test_what_asks_to_be_alone_fits_nowhere(number: int) -> None:
    """On a node it would keep others from there, and with every right."""
    spec = tamed(number).manifest["spec"]
    ports = [port for one in spec["containers"] for port in one.get("ports", ())]

    if "affinity" in spec or any("hostPort" in port for port in ports):
        assert fits_nowhere(spec)


@pytest.mark.parametrize("number", PODS)
def test_what_a_cluster_would_refuse_or_collect_is_left_out(number: int) -> None:
    """An object that is not there shows nothing."""
    pod = tamed(number)
    spec, metadata = pod.manifest["spec"], pod.manifest["metadata"]

    assert not spec.keys() & {"priority", "preemptionPolicy", "overhead"}
    assert "ephemeralContainers" not in spec
    assert "uid" not in metadata
    assert all(
        owner["apiVersion"] == "example.com/v1" for owner in metadata["ownerReferences"]
    )


def test_each_kind_of_oddity_is_left_in() -> None:
    """What makes an object harmless must not make it plain."""
    pods = [tamed(number) for number in PODS]

    assert {kind["kind"] for pod in pods for kind in pod.classes} == {
        "PriorityClass",
        "RuntimeClass",
    }
    assert any(pod.status for pod in pods)
    assert any(pod.ephemeral for pod in pods)
    assert any(pod.deleted for pod in pods)
    assert len({oddity_of(pod) for pod in chosen_of("Pod")}) > 12
    plain = {"requests": {"cpu": "250m"}}
    odd = [pod.manifest for pod in pods if "odd" in pod.manifest["metadata"]["name"]]
    resources = [one["spec"]["containers"][0]["resources"] for one in odd]
    assert any(one not in (NOTHING, plain) for one in resources)


def test_the_same_seed_draws_the_same_pods() -> None:
    """A try that fails is repeated by its seed."""
    first, again = (draw_pods(random.Random(7)) for _ in range(2))  # noqa: S311

    assert first == again
    assert len({oddity_of(pod) for pod in first}) == len(first)


def test_an_odd_node_takes_no_pod() -> None:
    """A node of endless room would take what a plan is asked for."""
    for node in chosen_of("Node"):
        allocatable_of(node)  # it can be read
        spec = tame_node(node, "odd-1")["spec"]

        assert spec["unschedulable"]
        assert spec["taints"]


def test_an_odd_budget_beside_the_scenario_s_pods_selects_none() -> None:
    """One that did would be law, and the plan would rightly stop."""
    for budget in chosen_of("PodDisruptionBudget"):
        made = tame_budget(budget, "odd", "ns", of_nobody=True)
        selector = Selector.of(made)

        assert selector is not None
        assert not selector.selects({"stowage.dev/workload": "steady"})
