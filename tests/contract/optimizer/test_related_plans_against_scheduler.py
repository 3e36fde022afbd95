"""The real scheduler accepts all arrivals of a plan, in some order."""

from __future__ import annotations

from random import Random

from solving_in_process import finished_answer_to

from benchmarks.agreement.manifests import node_manifest, pod_manifest
from benchmarks.agreement.related_pods import crowded_pods
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate import Instance, Simulator

CASES = 60


def crowded(seed: int) -> pb.Snapshot:
    """Return pods that all ask for CPU, so that nodes without it are closed to them."""
    snapshot = crowded_pods(Random(seed))  # noqa: S311
    for one in snapshot.pod_classes:
        one.requests.cpu_milli = 1
    return snapshot


def let_in(
    simulator: Simulator, snapshot: pb.Snapshot, there: list[pb.Pod], target: str
) -> bool:
    """Tell whether the last one of ``there`` may come to ``target``.

    Only that node has room: that changes nothing for the filters of relations.
    """
    *running, comes = there
    nodes = tuple(
        node_manifest(node, 1000 * (node.name == target)) for node in snapshot.nodes
    )
    pods = tuple(pod_manifest(snapshot, pod) for pod in (*running, comes))
    placed = simulator.place(Instance(comes.uid, nodes, pods)).nodes
    return placed[f"{comes.namespace}/{comes.name}"] == target


def refused(
    simulator: Simulator,
    snapshot: pb.Snapshot,
    arrivals: dict[str, str],
    gone: set[str],
) -> dict[str, str]:
    """Return who of ``arrivals`` is never let in."""
    by_uid = {pod.uid: pod for pod in snapshot.pods}
    there = [
        pod
        for pod in snapshot.pods
        if pod.node and pod.uid not in arrivals and pod.uid not in gone
    ]
    left = dict(arrivals)
    while left:
        came = []
        for uid, node in left.items():
            pod = pb.Pod()
            pod.CopyFrom(by_uid[uid])
            pod.node = ""
            if let_in(simulator, snapshot, [*there, pod], node):
                pod.node = node
                there.append(pod)
                came.append(uid)
        if not came:
            return left
        for uid in came:
            del left[uid]
    return {}


def test_whoever_a_plan_moves_or_places_is_let_in(simulator: Simulator) -> None:
    """Evaluator, strategies and checker may all be wrong in one and the same way."""
    moves = placements = 0
    for seed in range(CASES):
        snapshot = crowded(seed)
        asked = pb.SolveOptions(strategy="cpsat-aggregated", seed=1, deterministic=True)

        plan = finished_answer_to(snapshot, asked).plan

        arrivals = {one.pod_uid: one.to_node for one in plan.moves}
        arrivals |= {one.pod_uid: one.node for one in plan.placements}
        gone = {one.pod_uid for one in plan.evictions}
        assert (seed, refused(simulator, snapshot, arrivals, gone)) == (seed, {})
        moves += len(plan.moves)
        placements += len(plan.placements)
    assert moves > CASES // 20
    assert placements > CASES
