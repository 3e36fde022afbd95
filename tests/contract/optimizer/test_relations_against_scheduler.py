"""The real scheduler decides who may come where, one by one and after a plan."""

from random import Random

from packing_oracle import items_of
from solving_in_process import decoded, finished_answer_to

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.ties.registry import with_ties
from stowage_optimizer.verify import verify_plan
from stowage_testbed.simulate.instance import Instance
from stowage_testbed.simulate.process import Simulator
from tests.differential.manifests import node_manifest, pod_manifest
from tests.differential.related_pods import NODES, crowded_pods, related_pods

# fmt: off
SEEDS = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15, 17, 18, 21, 23, 24, 27, 30, 33, 34, 36,
    37, 40, 44, 46, 49, 53, 56, 57, 62, 64, 68, 70, 72, 73, 74, 76, 78, 79, 82, 84,
    94, 99, 101, 102, 110, 124, 126, 127, 134, 137, 142, 143, 145, 148, 154, 169, 178,
    181, 187, 193, 205, 250, 259, 284, 312, 362, 379, 380, 456, 462, 643, 729, 743,
    744, 763, 901, 1026, 1125, 1348, 1366, 1377, 1565, 1617,
)
# fmt: on
"""Cases that among them hang at least thrice on each part of a demand: skew, policies,
domains, labels and namespaces of spreads and terms, ports and taints."""

CASES = 60

RELATIONS = ("host-ports", "pod-anti-affinity", "pod-affinity", "topology-spread")


def let_in(simulator: Simulator, snapshot: pb.Snapshot, there: list[pb.Pod], comes: pb.Pod, target: str) -> bool:
    """Tell whether the scheduler lets a pod in on a node.

    Only that node has room: that changes nothing for the filters of relations.
    """
    nodes = (node_manifest(one, 1000 * (one.name == target)) for one in snapshot.nodes)
    pods = (pod_manifest(snapshot, pod) for pod in (*there, comes))
    asked = Instance(target, tuple(nodes), tuple(pods))
    return simulator.place(asked).nodes[f"{comes.namespace}/{comes.name}"] == target


def evaluated(snapshot: pb.Snapshot) -> list[str]:
    packing = with_ties(reduce_snapshot(decoded(snapshot), relations=True))
    assert packing.refusals == ()
    (item,) = items_of(packing)
    builder = AssignmentBuilder(packing)
    return [NODES[node] for node in item.eligible if builder.fits(0, node) and builder.ties_allow(0, node)]


def verified(snapshot: pb.Snapshot) -> list[str]:
    found = []
    for node in NODES:
        plan = pb.Plan(snapshot_id=snapshot.id)
        plan.placements.add(pod_uid=snapshot.pods[-1].uid, node=node)
        broken = {one.rule for one in verify_plan(snapshot, plan, pb.POLICY_STRICT)}
        if broken.isdisjoint(("eligibility", *RELATIONS)):
            found.append(node)
    return found


def test_evaluator_and_checker_agree_with_the_scheduler(simulator: Simulator) -> None:
    """Both are written from the documentation; only the scheduler is right."""
    open_nodes = 0
    for seed in SEEDS:
        snapshot = related_pods(Random(seed))  # noqa: S311
        *running, comes = snapshot.pods

        wanted = [node for node in NODES if let_in(simulator, snapshot, running, comes, node)]

        assert (seed, evaluated(snapshot)) == (seed, wanted)
        assert (seed, verified(snapshot)) == (seed, wanted)
        open_nodes += len(wanted)
    assert len(SEEDS) / 2 < open_nodes < (len(NODES) - 1) * len(SEEDS)


def crowded(seed: int) -> pb.Snapshot:
    """Return pods that all ask for CPU, so that nodes without it are closed to them."""
    snapshot = crowded_pods(Random(seed))  # noqa: S311
    for one in snapshot.pod_classes:
        one.requests.cpu_milli = 1
    return snapshot


def refused(simulator: Simulator, snapshot: pb.Snapshot, arrivals: dict[str, str], gone: set[str]) -> dict[str, str]:
    staying = [pod for pod in snapshot.pods if pod.uid not in {*arrivals, *gone}]
    there = [pod for pod in staying if pod.node]
    left, came = dict(arrivals), True
    while left and came:
        came = False
        for pod in snapshot.pods:
            if pod.uid in left:
                comes = pb.Pod()
                comes.CopyFrom(pod)
                comes.node = ""
                if let_in(simulator, snapshot, there, comes, left[pod.uid]):
                    comes.node = left.pop(pod.uid)
                    there.append(comes)
                    came = True
    return left


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
