"""Odd objects: odd in what they are named for, and in nobody's way."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.faults.odd_objects import (
    NOBODY,
    NOTHING,
    chosen_of,
    draw_pods,
    make_classes,
    oddity_of,
    tame_budget,
    tame_node,
    tame_pod,
)
from stowage_testbed.invariants.selector import Selector
from stowage_testbed.observe.pod_body import allocatable_of, requests_of

PODS = tuple(range(len(chosen_of("Pod"))))


def tamed(number: int) -> dict[str, Any]:
    return tame_pod(chosen_of("Pod")[number], "odd", "ns")


def fits_nowhere(spec: dict[str, Any]) -> bool:
    return bool(NOBODY.items() <= spec.get("nodeSelector", {}).items())


@pytest.mark.parametrize("number", PODS)
def test_an_odd_pod_takes_no_room_of_others(number: int) -> None:
    """It would rightly be in the way of a plan, and the plan's failure show nothing."""
    pod = tamed(number)
    ports = [port for one in pod["spec"]["containers"] for port in one.get("ports", ())]

    if requests_of(pod).get("memory", 0) or "affinity" in pod["spec"] or ports:
        assert fits_nowhere(pod["spec"])


@pytest.mark.parametrize("number", PODS)
def test_what_a_cluster_would_refuse_or_collect_is_left_out(number: int) -> None:
    """An object that is not there shows nothing."""
    pod = tamed(number)
    owners = pod["metadata"].get("ownerReferences", ())

    assert not pod["spec"].keys() & {"priority", "preemptionPolicy", "overhead"}
    assert all(owner["apiVersion"] == "example.com/v1" for owner in owners)


def test_what_makes_pods_harmless_does_not_make_them_plain() -> None:
    """Half of the oddities are about room, and those that run are odd elsewhere."""
    pods = [tamed(number) for number in PODS]
    classes = {one["kind"] for pod in chosen_of("Pod") for one in make_classes(pod)}
    resources = [pod["spec"]["containers"][0]["resources"] for pod in pods]

    assert classes == {"PriorityClass", "RuntimeClass"}
    assert len({oddity_of(pod) for pod in pods}) > 12
    assert sum(one != NOTHING for one in resources) > len(pods) / 2
    assert sum(not fits_nowhere(pod["spec"]) for pod in pods) > len(pods) / 5
    assert any(pod["status"] for pod in pods)
    assert any(pod["spec"].get("ephemeralContainers") for pod in pods)
    assert any("deletionTimestamp" in pod["metadata"] for pod in pods)


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
