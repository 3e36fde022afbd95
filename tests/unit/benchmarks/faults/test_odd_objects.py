"""Odd objects: odd in what they are named for, and in nobody's way."""

from __future__ import annotations

import json
import random

import pytest

from benchmarks.faults.odd_objects import ODDITIES, odd_object, odd_pod
from stowage_testbed.invariants.selector import Selector
from stowage_testbed.observe.pod_body import allocatable_of, requests_of

LARGEST_NODE_BYTES = 4 * 10**9
SEEDS = range(30)
LARGEST_OBJECT_BYTES = 1 << 20


@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_odd_pod_takes_no_memory_of_others(oddity: str) -> None:
    """It would rightly be in the way of a plan, and the plan's failure show nothing."""
    for seed in SEEDS:
        pod = odd_pod("odd", "ns", oddity, random.Random(seed))  # noqa: S311
        memory = requests_of(pod.manifest).get("memory", 0)
        overhead = pod.manifest["spec"].get("runtimeClassName")

        assert memory == 0 or memory > LARGEST_NODE_BYTES or overhead


@pytest.mark.parametrize("oddity", ODDITIES)
def test_what_asks_to_be_alone_fits_nowhere(oddity: str) -> None:
    """On a node it would keep others from there, and with every right."""
    for seed in SEEDS:
        pod = odd_pod("odd", "ns", oddity, random.Random(seed))  # noqa: S311
        if "podAntiAffinity" in (pod.manifest["spec"].get("affinity") or {}):
            assert requests_of(pod.manifest)["memory"] > LARGEST_NODE_BYTES


def test_each_way_of_being_odd_is_another() -> None:
    """Two alike would count twice and show the same."""
    made = [odd_pod("odd", "ns", one, random.Random(1)) for one in ODDITIES]  # noqa: S311
    texts = [json.dumps([p.manifest, p.status, p.ephemeral, p.deleted]) for p in made]

    plain = odd_pod("odd", "ns", "gated", random.Random(1)).manifest  # noqa: S311
    del plain["spec"]["schedulingGates"]

    assert len({*texts, json.dumps([plain, {}, [], False])}) == len(made) + 1
    assert max(map(len, texts)) < LARGEST_OBJECT_BYTES


def test_the_same_seed_makes_the_same_objects() -> None:
    """A try that fails is repeated by its seed."""
    for oddity in ODDITIES:
        first, again = (
            odd_pod("odd", "ns", oddity, random.Random(7))  # noqa: S311
            for _ in range(2)
        )
        assert first == again


def test_an_odd_node_takes_no_pod() -> None:
    """A node of endless room would take what a plan is asked for."""
    for seed in SEEDS:
        rng = random.Random(seed)  # noqa: S311
        node = odd_object("node", rng, "odd-1")
        capacity = odd_object("capacity", rng)
        allocatable_of({"status": {"allocatable": capacity}})  # it can be read

        assert node["spec"]["unschedulable"]
        assert node["spec"]["taints"]


def test_an_odd_budget_beside_the_scenario_s_pods_selects_none() -> None:
    """One that did would be law, and the plan would rightly stop."""
    for seed in SEEDS:
        budget = odd_object("budget-of-nobody", random.Random(seed), "odd", "ns")  # noqa: S311
        selector = Selector.of(budget)

        assert selector is not None
        assert not selector.selects({"stowage.dev/workload": "steady"})
