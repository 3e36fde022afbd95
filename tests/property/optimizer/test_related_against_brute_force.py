"""Plans that move pods with demands, against every assignment there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import pytest
from brute_force import Where, outcome, value_of
from small_plans import feasible
from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_testbed.agreement.related_pods import crowded_pods

SEEDS = range(40)
MOST_ASSIGNMENTS = 1_100
STRATEGIES = ["cpsat-aggregated", "first-fit-decreasing"]


def small(seed: int) -> pb.Snapshot:
    """Return three nodes and a few pods, of which not all find room."""
    snapshot = crowded_pods(Random(seed), waiting=2)  # noqa: S311
    gone = snapshot.nodes[-1].name
    del snapshot.nodes[-1]
    kept = [pod for pod in snapshot.pods if pod.node != gone]
    del snapshot.pods[:]
    snapshot.pods.extend(kept)
    for node in snapshot.nodes:
        node.allocatable.pods = min(3, node.allocatable.pods)
    return snapshot


def assignments(snapshot: pb.Snapshot) -> Iterator[Where]:
    names = ["", *(node.name for node in snapshot.nodes)]
    choices = [
        [pod.node] if pod.node and not pod.movable else names for pod in snapshot.pods
    ]
    for nodes in product(*choices):
        yield {pod.uid: node for pod, node in zip(snapshot.pods, nodes, strict=True)}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_called_optimal_is_beaten_by_no_assignment(
    seed: int, strategy: str
) -> None:
    """Limits come from the problem without demands; so they are never too low."""
    snapshot = small(seed)
    count = 1
    for pod in snapshot.pods:
        count *= 1 if pod.node and not pod.movable else 1 + len(snapshot.nodes)
    if count > MOST_ASSIGNMENTS:
        return
    asked = pb.SolveOptions(strategy=strategy, seed=1, deterministic=True)

    plan = finished_answer_to(snapshot, asked).plan

    assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []
    mine = value_of(snapshot, outcome(snapshot, plan), pb.POLICY_STRICT)
    proved = sum(tier.optimal for tier in plan.tiers)
    for where in assignments(snapshot):
        value = value_of(snapshot, where, pb.POLICY_STRICT)
        better = value[:proved] > mine[:proved]
        more = (
            value[:proved] == mine[:proved]
            and proved < len(value)
            and value[proved][0] >= mine[proved][0]
            and value[proved][1] > plan.tiers[proved].upper_bound
        )
        assert not ((better or more) and feasible(snapshot, where)), where
