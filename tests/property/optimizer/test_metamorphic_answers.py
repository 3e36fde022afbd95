"""What must follow for an answer where the question changes in a known way.

No oracle knows the best answer of these clusters. But two questions whose answers are
related must get related answers, and no proof of the one may deny the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from random import Random

import pytest
from brute_force import Value, outcome, value_of
from crowded_clusters import crowded_cluster
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan

SEEDS = range(3)
POLICY = pb.POLICY_STRICT
LIMIT_S = 1.0
MORE = 6
"""Further replicas for which there is certainly no room."""

Cluster = Callable[[int], pb.Snapshot]
CLUSTERS: dict[str, Cluster] = {
    "one priority": partial(crowded_cluster, priorities=1),
    "three priorities": partial(crowded_cluster, priorities=3),
    "constrained": partial(crowded_cluster, priorities=2, constrained=True),
}
every_cluster = pytest.mark.parametrize("cluster", CLUSTERS)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def solved(snapshot: pb.Snapshot) -> pb.Plan:
    """Return the answer; work is counted in steps, so that it is always the same."""
    answer = answer_to(
        snapshot, strategy="lexicographic", time_limit_s=LIMIT_S, deterministic=True
    )
    plan = answer.plan
    assert verify_plan(snapshot, plan, POLICY) == []
    return plan


@cache
def answered(cluster: str, seed: int) -> tuple[pb.Snapshot, pb.Plan]:
    """Return a question and its answer, which are not to be altered."""
    snapshot = CLUSTERS[cluster](seed)
    return snapshot, solved(snapshot)


def copied(snapshot: pb.Snapshot) -> pb.Snapshot:
    return pb.Snapshot.FromString(snapshot.SerializeToString())


def reached(snapshot: pb.Snapshot, plan: pb.Plan) -> Value:
    return value_of(snapshot, outcome(snapshot, plan), POLICY)


@every_cluster
@every_seed
def test_units_change_nothing(cluster: str, seed: int) -> None:
    """Bytes or kilobytes, cores or millis: the very same plan."""
    snapshot, plan = answered(cluster, seed)
    scaled = copied(snapshot)
    amounts = [one.allocatable for one in scaled.nodes]
    amounts += [one.requests for one in scaled.pod_classes]
    for one in amounts:
        one.cpu_milli *= 7
        one.memory_bytes *= 1024

    assert solved(scaled) == plan


@every_cluster
@every_seed
def test_names_mean_nothing(cluster: str, seed: int) -> None:
    """The plan is the same except for its names."""
    snapshot, one = answered(cluster, seed)
    renamed, random = copied(snapshot), Random(seed)  # noqa: S311
    names: defaultdict[str, str] = defaultdict(lambda: f"x{random.random()}", {"": ""})
    for node in renamed.nodes:
        node.name = names[node.name]
    for pod_class in renamed.pod_classes:
        pod_class.id = names[pod_class.id]
    for pod in renamed.pods:
        pod.uid, pod.class_id = names[pod.uid], names[pod.class_id]
        pod.node = names[pod.node]

    other = solved(renamed)

    assert reached(snapshot, one) == reached(renamed, other)
    _agree(snapshot, one, renamed, other)


@every_cluster
@every_seed
def test_the_order_of_nodes_and_pods_denies_no_proof(cluster: str, seed: int) -> None:
    """It may decide between plans, but not about what is possible."""
    snapshot, plan = answered(cluster, seed)
    shuffled, random = copied(snapshot), Random(seed)  # noqa: S311
    shuffled.nodes.sort(key=lambda _: random.random())
    shuffled.pods.sort(key=lambda _: random.random())

    _agree(snapshot, plan, shuffled, solved(shuffled))


@every_cluster
@every_seed
def test_an_empty_node_makes_nothing_worse(cluster: str, seed: int) -> None:
    """Whatever was possible still is."""
    snapshot, before = answered(cluster, seed)
    wider = copied(snapshot)
    wider.nodes.append(wider.nodes[0])
    wider.nodes[-1].name = wider.nodes[-1].labels["host"] = "new"

    after = solved(wider)

    assert reached(wider, after) >= reached(snapshot, before)
    _holds(after, reached(wider, after), reached(snapshot, before))


@every_cluster
@every_seed
def test_a_pod_that_waits_in_vain_may_as_well_not_be_there(
    cluster: str, seed: int
) -> None:
    """The plan is one of the others too, and there is no other without the pod."""
    snapshot = CLUSTERS[cluster](seed)
    for one in snapshot.pod_classes[:MORE]:
        SnapshotBuilder(snapshot).pod(f"more of {one.id}", of=one.id)
    before = solved(snapshot)
    where, fewer = outcome(snapshot, before), copied(snapshot)
    in_vain = next(pod for pod in fewer.pods if not pod.node and not where[pod.uid])
    fewer.pods.remove(in_vain)

    _agree(snapshot, before, fewer, solved(fewer))


def _agree(
    snapshot: pb.Snapshot, one: pb.Plan, other_snapshot: pb.Snapshot, other: pb.Plan
) -> None:
    """Assert that two answers to questions with the same values deny each other not."""
    mine, theirs = reached(snapshot, one), reached(other_snapshot, other)
    _holds(one, mine, theirs)
    _holds(other, theirs, mine)
    assert not (one.optimal and other.optimal) or mine == theirs


def _holds(plan: pb.Plan, own: Value, found: Value) -> None:
    """Assert that no limit of ``plan`` is too tight for what was found elsewhere."""
    for at, tier in enumerate(plan.tiers):
        assert not tier.optimal or found[: at + 1] <= own[: at + 1]
        earlier = zip(own[:at], found[:at], strict=True)
        if not all(f >= o for a, b in earlier for o, f in zip(a, b, strict=True)):
            return
        if found[at][0] < own[at][0]:
            return
        assert found[at][1] <= tier.upper_bound
        if found[at][1] >= own[at][1]:
            assert -found[at][2] >= tier.disruption_lower_bound
