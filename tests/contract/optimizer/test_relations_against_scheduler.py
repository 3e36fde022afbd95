"""The real scheduler decides who may come where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from random import Random

import pytest
from google.protobuf.message import Message
from packing_oracle import items_of
from solving_in_process import decoded

from benchmarks.agreement.manifests import node_manifest, pod_manifest
from benchmarks.agreement.related_pods import NODES, related_pods
from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_testbed.simulate import Instance, Simulator

# fmt: off
SEEDS = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15, 17, 18, 21, 23, 24, 27, 30, 33, 34, 36,
    37, 40, 44, 46, 49, 53, 56, 57, 62, 64, 68, 70, 72, 73, 74, 76, 78, 79, 82, 84,
    94, 99, 101, 102, 110, 124, 126, 127, 134, 137, 142, 143, 145, 148, 154, 169, 178,
    181, 187, 193, 205, 250, 259, 284, 312, 362, 379, 380, 456, 462, 643, 729, 743,
    744, 763, 901, 1026, 1125, 1348, 1366, 1377, 1565, 1617,
)
# fmt: on
"""Cases in which each of `PARTS` decides at least thrice; of the first 300 seeds no
case hung on some of them."""

LEAST_DECIDED = 3

RULES = {
    "eligibility",
    "host-ports",
    "pod-anti-affinity",
    "pod-affinity",
    "topology-spread",
}


Part = Callable[[pb.Snapshot], None]
"""Takes one part out of every demand of a snapshot, or turns it round."""


def _spreads(snapshot: pb.Snapshot) -> list[pb.TopologySpreadConstraint]:
    return [one for each in snapshot.pod_classes for one in each.topology_spread]


def _terms(snapshot: pb.Snapshot) -> list[pb.PodAffinityTerm]:
    return [
        term
        for each in snapshot.pod_classes
        for term in (*each.required_pod_affinity, *each.required_pod_anti_affinity)
    ]


def _without(field: str, messages: Callable[[pb.Snapshot], Iterable[Message]]) -> Part:
    def clear(snapshot: pb.Snapshot) -> None:
        for one in messages(snapshot):
            one.ClearField(field)

    return clear


def _skew(snapshot: pb.Snapshot) -> None:
    for one in _spreads(snapshot):
        one.max_skew += 1


def _affinity_policy(snapshot: pb.Snapshot) -> None:
    for one in _spreads(snapshot):
        ignores = one.node_affinity_policy == "Ignore"
        one.node_affinity_policy = "Honor" if ignores else "Ignore"


def _taints_policy(snapshot: pb.Snapshot) -> None:
    for one in _spreads(snapshot):
        honors = one.node_taints_policy == "Honor"
        one.node_taints_policy = "Ignore" if honors else "Honor"


def _second_spread(snapshot: pb.Snapshot) -> None:
    for each in snapshot.pod_classes:
        del each.topology_spread[1:]


def _second_affinity(snapshot: pb.Snapshot) -> None:
    for each in snapshot.pod_classes:
        del each.required_pod_affinity[1:]


def _own_anti_affinity(snapshot: pb.Snapshot) -> None:
    del snapshot.pod_classes[-1].required_pod_anti_affinity[:]


def _anti_affinity_of_those_who_run(snapshot: pb.Snapshot) -> None:
    for each in snapshot.pod_classes[:-1]:
        del each.required_pod_anti_affinity[:]


def _address_of_a_port(snapshot: pb.Snapshot) -> None:
    for port in snapshot.pod_classes[-1].host_ports:
        port.host_ip = "10.0.0.9"


PARTS: dict[str, Part] = {
    "fewest domains": _without("min_domains", _spreads),
    "skew": _skew,
    "affinity policy": _affinity_policy,
    "taints policy": _taints_policy,
    "own labels in spread": _without("match_label_keys", _spreads),
    "second spread": _second_spread,
    "own labels": _without("match_label_keys", _terms),
    "other labels": _without("mismatch_label_keys", _terms),
    "namespaces": _without("namespaces", _terms),
    "second affinity": _second_affinity,
    "own anti-affinity": _own_anti_affinity,
    "anti-affinity of those who run": _anti_affinity_of_those_who_run,
    "address of a port": _address_of_a_port,
    "taints": _without("taints", lambda snapshot: snapshot.nodes),
}


def truth(simulator: Simulator, snapshot: pb.Snapshot) -> list[str]:
    """Return the nodes that the scheduler puts the waiting pod on, if it must.

    Only one node at a time has room: that changes nothing for the other filters.
    """
    found = []
    for target in NODES:
        nodes = tuple(
            node_manifest(node, 10 * (node.name == target)) for node in snapshot.nodes
        )
        pods = tuple(pod_manifest(snapshot, pod) for pod in snapshot.pods)
        placed = simulator.place(Instance(target, nodes, pods)).nodes
        waiting = snapshot.pods[-1]
        if placed[f"{waiting.namespace}/{waiting.name}"] == target:
            found.append(target)
    return found


def evaluated(snapshot: pb.Snapshot) -> list[str]:
    packing = reduce_snapshot(decoded(snapshot), relations=True)
    assert packing.refusals == ()
    (item,) = items_of(packing)
    builder = AssignmentBuilder(packing)
    return [
        NODES[node]
        for node in item.eligible
        if builder.fits(0, node) and builder.relations_allow(0, node)
    ]


def verified(snapshot: pb.Snapshot) -> list[str]:
    found = []
    for node in NODES:
        plan = pb.Plan(snapshot_id=snapshot.id)
        plan.placements.add(pod_uid=snapshot.pods[-1].uid, node=node)
        broken = {one.rule for one in verify_plan(snapshot, plan, pb.POLICY_STRICT)}
        if not broken & RULES:
            found.append(node)
    return found


@cache
def verified_as_it_is(seed: int) -> list[str]:
    return verified(related_pods(Random(seed)))  # noqa: S311


def test_evaluator_and_checker_open_the_nodes_that_the_scheduler_opens(
    simulator: Simulator,
) -> None:
    """Both are written from the documentation; only the scheduler is right."""
    open_nodes = 0
    for seed in SEEDS:
        snapshot = related_pods(Random(seed))  # noqa: S311

        wanted = truth(simulator, snapshot)

        assert (seed, evaluated(snapshot)) == (seed, wanted)
        assert (seed, verified(snapshot)) == (seed, wanted)
        open_nodes += len(wanted)
    assert len(SEEDS) / 2 < open_nodes < (len(NODES) - 1) * len(SEEDS)


@pytest.mark.parametrize("without", PARTS.values(), ids=PARTS)
def test_each_part_of_a_demand_decides_some_of_the_cases(without: Part) -> None:
    """A case that turns out the same without it says nothing about it."""
    decided = 0
    for seed in SEEDS:
        snapshot = related_pods(Random(seed))  # noqa: S311
        without(snapshot)
        decided += verified(snapshot) != verified_as_it_is(seed)
        if decided == LEAST_DECIDED:
            return
    pytest.fail(f"decides {decided} of the cases only")
