"""The real scheduler is the judge of who may come where."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from related_pods import NODES, related_pods
from scheduler_manifests import namespace_manifest, node_manifest, pod_manifest

from optimizer.constraints.reduction import reduce_snapshot
from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.decode import decode_snapshot
from optimizer.model.decode.faults import Faults
from optimizer.strategies.layout import Layout
from optimizer.verify import verify_plan
from testbed.simulate import Instance, Simulator, profile_file
from testbed.toolchain import install_tools

CASES = 300
RULES = {
    "eligibility",
    "host-ports",
    "pod-anti-affinity",
    "pod-affinity",
    "topology-spread",
}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    install_tools(["stowage-simulate"], quiet=True)
    with Simulator(profile_file("deterministic")) as running:
        yield running


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
        objects = tuple(namespace_manifest(one) for one in snapshot.namespaces)
        placed = simulator.place(Instance(target, nodes, pods, objects)).nodes
        waiting = snapshot.pods[-1]
        if placed[f"{waiting.namespace}/{waiting.name}"] == target:
            found.append(target)
    return found


def evaluated(snapshot: pb.Snapshot) -> list[str]:
    faults = Faults()
    packing = reduce_snapshot(decode_snapshot(snapshot, faults), relations=True)
    faults.raise_if_any()
    assert packing.refusals == ()
    (item,) = packing.items
    layout = Layout(packing)
    return [
        NODES[node]
        for node in item.eligible
        if layout.fits(0, node) and layout.welcomes(0, node)
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


def test_evaluator_and_checker_open_the_nodes_that_the_scheduler_opens(
    simulator: Simulator,
) -> None:
    """Both are written from the documentation; only the scheduler is right."""
    open_nodes = 0
    for seed in range(CASES):
        snapshot = related_pods(Random(seed))  # noqa: S311

        wanted = truth(simulator, snapshot)

        assert (seed, evaluated(snapshot)) == (seed, wanted)
        assert (seed, verified(snapshot)) == (seed, wanted)
        open_nodes += len(wanted)
    assert CASES < open_nodes < (len(NODES) - 1) * CASES
