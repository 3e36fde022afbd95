"""Among equal plans, the one that pods prefer."""

from collections.abc import Iterator
from itertools import combinations
from random import Random

import pytest
from brute_force import Where, outcome
from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.stages import pipeline
from stowage_optimizer.verify import verify_plan
from tests.differential.related_pods import crowded_pods

APPS = ["a", "b"]
SEEDS = 20
ASKED = pb.SolveOptions(strategy="cpsat-aggregated", seed=1, deterministic=True)


def pods_with_preferences(seed: int, *, demanding: bool) -> pb.Snapshot:
    """Return waiting pods with preferences and room for some of them.

    Some nodes have soft taints; half of the classes have terms.
    """
    rng = Random(seed)  # noqa: S311
    snapshot = crowded_pods(rng, waiting=5)
    for node in snapshot.nodes:
        if not rng.randrange(4):
            node.taints.add(key="soft", effect="PreferNoSchedule")
    for one in snapshot.pod_classes:
        if not demanding:
            del one.required_pod_affinity[:]
            del one.required_pod_anti_affinity[:]
            del one.topology_spread[:]
        if not rng.randrange(2):
            _add_preferences(one, rng)
    return snapshot


def _add_preferences(one: pb.PodClass, rng: Random) -> None:
    for disk in rng.sample(["ssd", "hdd"], rng.randrange(3)):
        term = one.preferred_node_affinity.add(weight=rng.randrange(1, 101))
        term.term.match_expressions.add(key="disk", operator="In", values=[disk])
    for terms in (one.preferred_pod_affinity, one.preferred_pod_anti_affinity):
        if not rng.randrange(2):
            preference = terms.add(weight=rng.randrange(1, 101))
            preference.term.topology_key = rng.choice(["host", "zone"])
            preference.term.label_selector.match_labels["app"] = rng.choice(APPS)
    if not rng.randrange(2):
        spread = one.topology_spread.add(max_skew=1, topology_key="zone")
        spread.when_unsatisfiable = "ScheduleAnyway"
        spread.label_selector.match_labels["app"] = rng.choice(APPS)


def preference_value(snapshot: pb.Snapshot, where: Where) -> int:
    """Return what all pods that ``where`` brings to a node get of their terms."""
    classes = {one.id: one for one in snapshot.pod_classes}
    nodes = {node.name: node for node in snapshot.nodes}

    def selected(pod: pb.Pod, selector: pb.LabelSelector) -> list[pb.Pod]:
        app = selector.match_labels["app"]
        return [
            other
            for other in snapshot.pods
            if other.namespace == pod.namespace and classes[other.class_id].labels["app"] == app
        ]

    def near(pod: pb.Pod, key: str, selector: pb.LabelSelector) -> int:
        """Return how many others are in the pod's domain, none without one."""
        domain = nodes[where[pod.uid]].labels.get(key)
        return sum(
            nodes[where[other.uid]].labels.get(key) == domain is not None
            for other in selected(pod, selector)
            if where[other.uid] and other.uid != pod.uid
        )

    total = 0
    for pod in snapshot.pods:
        if where[pod.uid] in ("", pod.node):
            continue
        one, node = classes[pod.class_id], nodes[where[pod.uid]]
        total += _of_node(one, node)
        for sign, terms in ((1, one.preferred_pod_affinity), (-1, one.preferred_pod_anti_affinity)):
            for asked in terms:
                term = asked.term
                met = near(pod, term.topology_key, term.label_selector)
                total += sign * asked.weight * met
        for spread in one.topology_spread:
            if spread.when_unsatisfiable == "ScheduleAnyway":
                crowd = near(pod, spread.topology_key, spread.label_selector)
                if spread.topology_key not in node.labels:
                    # As bad as all of them, wherever they are or wait.
                    crowd = len(selected(pod, spread.label_selector))
                total -= 10 * crowd
    return total


def _of_node(one: pb.PodClass, node: pb.Node) -> int:
    liked = 0
    for term in one.preferred_node_affinity:
        (requirement,) = term.term.match_expressions
        liked += term.weight * (node.labels.get("disk") in requirement.values)
    tolerated = any(not tol.key for tol in one.tolerations)
    soft = sum(taint.effect == "PreferNoSchedule" for taint in node.taints)
    return liked - 100 * soft * (not tolerated)


def neighbours(snapshot: pb.Snapshot, plan: pb.Plan) -> Iterator[Where]:
    """Yield nodes with one pod going elsewhere, or two having changed places."""
    where = outcome(snapshot, plan)
    arrivals = [*(one.pod_uid for one in plan.placements), *(one.pod_uid for one in plan.moves)]
    for uid in arrivals:
        for node in snapshot.nodes:
            yield where | {uid: node.name}
    for one, other in combinations(arrivals, 2):
        yield where | {one: where[other], other: where[one]}


def redirected(plan: pb.Plan, where: Where) -> pb.Plan:
    changed = pb.Plan()
    changed.CopyFrom(plan)
    for placement in changed.placements:
        placement.node = where[placement.pod_uid]
    for move in changed.moves:
        move.to_node = where[move.pod_uid]
    return changed


@pytest.mark.parametrize("demanding", [False, True])
def test_no_pod_would_be_better_elsewhere_and_the_plan_is_worth_as_much_without(
    demanding: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same pods placed, moved and evicted, and the same claims; only nodes differ.

    The checker says which plans that send one pod elsewhere, or two to each other's nodes, are good.
    """
    gained = 0
    for seed in range(SEEDS):
        snapshot = pods_with_preferences(seed, demanding=demanding)
        plan = finished_answer_to(snapshot, ASKED).plan
        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "has_preferences", lambda _snapshot: False)
            without = finished_answer_to(snapshot, ASKED).plan

        assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []
        where, before = outcome(snapshot, plan), outcome(snapshot, without)
        mine = preference_value(snapshot, where)
        for other in neighbours(snapshot, plan):
            if preference_value(snapshot, other) > mine:
                changed = redirected(plan, other)
                assert verify_plan(snapshot, changed, pb.POLICY_STRICT) != []
        assert redirected(plan, before) == without
        assert mine >= preference_value(snapshot, before)
        gained += mine > preference_value(snapshot, before)
    assert gained > SEEDS // 6
