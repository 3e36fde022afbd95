"""The checker refuses a hand-made bad plan for each of its rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from snapshot_builder import GB, SnapshotBuilder, figure_1
from solving_in_process import plan_for

from optimizer.contract import optimizer_pb2 as pb
from optimizer.verify import verify_plan

Mutation = Callable[[pb.Snapshot, pb.Plan], None]


def rules_broken(
    snapshot: pb.Snapshot, plan: pb.Plan, policy: pb.Policy = pb.POLICY_STRICT
) -> set[str]:
    return {violation.rule for violation in verify_plan(snapshot, plan, policy)}


def good() -> tuple[pb.Snapshot, pb.Plan]:
    """Return figure 1 and its plan: pod-3 placed on one node, its pod moved away."""
    snapshot = figure_1()
    return snapshot, plan_for(snapshot)


def tier(
    priority: int, before: int, placed: int, disruption: int = 0, bound: int = 9
) -> pb.TierResult:
    return pb.TierResult(
        priority=priority,
        placed_before=before,
        placed=placed,
        upper_bound=bound,
        disruption=disruption,
    )


def test_a_good_plan_breaks_no_rule() -> None:
    """The mutants below start from something that passes."""
    assert verify_plan(*good(), pb.POLICY_STRICT) == []


def _other_snapshot(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.snapshot_id = "snapshot-0"


def _unknown_pod(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.placements[0].pod_uid = "ghost"


def _unknown_node(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.placements[0].node = "nowhere"


def _named_twice(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.placements.add(pod_uid="pod-3", node="node-1")


def _places_a_running_pod(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.placements[0].pod_uid = "pod-1"


def _wrong_origin(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.moves[0].from_node = plan.moves[0].to_node


def _no_room(_: pb.Snapshot, plan: pb.Plan) -> None:
    del plan.moves[:]


def _too_many_pods(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for node in snapshot.nodes:
        node.allocatable.pods = 1


def _room_is_reserved(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for node in snapshot.nodes:
        snapshot.reservations.add(
            name="held", node=node.name, held=pb.Resources(memory_bytes=2 * GB)
        )


def _wants_a_gpu(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].requests.extended["example.com/gpu"] = 1


def _wants_a_disk(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].requests.ephemeral_storage_bytes = 1


def _tainted(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for node in snapshot.nodes:
        node.taints.add(key="k", value="v", effect="NoExecute")


def _cordoned(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for node in snapshot.nodes:
        node.unschedulable = True


def _selects_elsewhere(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].node_selector["disk"] = "ssd"


def _affine_elsewhere(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    term = snapshot.pod_classes[2].required_node_affinity.add()
    term.match_expressions.add(key="disk", operator="Exists")


def _volume_is_elsewhere(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    term = snapshot.pod_classes[2].volume_node_affinity.add().terms.add()
    term.match_expressions.add(key="zone", operator="Exists")


def _named_elsewhere(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].node_name = "node-9"


def _refused_there(snapshot: pb.Snapshot, plan: pb.Plan) -> None:
    snapshot.forbidden_pairs.add(class_id="class-pod-3", node=plan.placements[0].node)


def _immovable(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for pod in snapshot.pods:
        pod.movable = False


def _budget_is_spent(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.disruption_budgets.add(
        namespace="default", name="budget", selector=pb.LabelSelector()
    )


def _budget_allows_fewer(snapshot: pb.Snapshot, plan: pb.Plan) -> None:
    plan.evictions.add(pod_uid="pod-1", node="node-1")
    snapshot.disruption_budgets.add(
        namespace="default",
        name="budget",
        selector=pb.LabelSelector(),
        disruptions_allowed=1,
    )


def _two_budgets(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for name in ("one", "two"):
        snapshot.disruption_budgets.add(
            namespace="default",
            name=name,
            selector=pb.LabelSelector(),
            disruptions_allowed=5,
        )


def _has_host_port(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for pod_class in snapshot.pod_classes:
        pod_class.host_ports.add(port=80)


def _has_volumes(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].unsupported.append("volumes")


def _has_spread(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].topology_spread.add(
        max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"
    )


def _has_affinity(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[2].required_pod_affinity.add(topology_key="zone")


def _is_kept_away(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    for node in snapshot.nodes:
        node.labels["zone"] = "z"
    snapshot.pod_classes[0].required_pod_anti_affinity.add(
        topology_key="zone", label_selector=pb.LabelSelector()
    )


def _wrong_count(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.tiers[0].placed = 2


def _wrong_disruption(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.tiers[0].disruption = 0


def _missing_tier(_: pb.Snapshot, plan: pb.Plan) -> None:
    del plan.tiers[:]


def _bound_below_placed(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.tiers[0].upper_bound = 2


def _optimal_without_proof(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.tiers[0].upper_bound = 4


def _optimal_in_name_only(_: pb.Snapshot, plan: pb.Plan) -> None:
    plan.tiers[0].optimal = False


def _snapshot_names_a_class_twice(snapshot: pb.Snapshot, _: pb.Plan) -> None:
    snapshot.pod_classes[1].id = snapshot.pod_classes[0].id


MUTANTS: list[tuple[Mutation, str]] = [
    (_other_snapshot, "snapshot-id"),
    (_unknown_pod, "unknown-pod"),
    (_unknown_node, "unknown-node"),
    (_named_twice, "duplicate"),
    (_places_a_running_pod, "origin"),
    (_wrong_origin, "origin"),
    (_no_room, "capacity"),
    (_too_many_pods, "capacity"),
    (_room_is_reserved, "capacity"),
    (_wants_a_gpu, "capacity"),
    (_wants_a_disk, "capacity"),
    (_tainted, "eligibility"),
    (_cordoned, "eligibility"),
    (_selects_elsewhere, "eligibility"),
    (_affine_elsewhere, "eligibility"),
    (_volume_is_elsewhere, "eligibility"),
    (_named_elsewhere, "eligibility"),
    (_refused_there, "eligibility"),
    (_immovable, "immovable"),
    (_budget_is_spent, "disruption-budget"),
    (_budget_allows_fewer, "disruption-budget"),
    (_two_budgets, "disruption-budget"),
    (_has_host_port, "host-ports"),
    (_has_volumes, "unverifiable"),
    (_has_spread, "topology-spread"),
    (_has_affinity, "pod-affinity"),
    (_is_kept_away, "pod-anti-affinity"),
    (_wrong_count, "tiers"),
    (_wrong_disruption, "tiers"),
    (_missing_tier, "tiers"),
    (_bound_below_placed, "bounds"),
    (_optimal_without_proof, "bounds"),
    (_optimal_in_name_only, "bounds"),
    (_snapshot_names_a_class_twice, "snapshot"),
]


@pytest.mark.parametrize(
    ("mutate", "rule"), MUTANTS, ids=[one.__name__[1:] for one, _ in MUTANTS]
)
def test_each_mutant_is_caught_by_its_rule(mutate: Mutation, rule: str) -> None:
    """A rule that never fires is no rule (R12)."""
    snapshot, plan = good()

    mutate(snapshot, plan)

    assert rule in rules_broken(snapshot, plan)


def trade() -> tuple[pb.Snapshot, pb.Plan]:
    """Return a plan that evicts one running pod for a pending one of its priority."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    builder.pod("running", cpu_milli=4, node="n")
    builder.pod("first", cpu_milli=2).pod("second", cpu_milli=2)
    plan = pb.Plan(
        snapshot_id="snapshot-1",
        placements=[
            pb.Placement(pod_uid="first", node="n"),
            pb.Placement(pod_uid="second", node="n"),
        ],
        evictions=[pb.Eviction(pod_uid="running", node="n")],
        tiers=[tier(0, 1, 2, 3)],
    )
    return builder.message, plan


def test_equal_priority_may_be_traded_under_the_papers_policy_only() -> None:
    """The policies differ in exactly this."""
    assert rules_broken(*trade(), pb.POLICY_STRICT) == {"policy"}
    assert rules_broken(*trade(), pb.POLICY_PAPER) == set()


def test_an_eviction_that_higher_priority_did_not_force_is_caught() -> None:
    """A gain above is no licence to trade below."""
    builder = SnapshotBuilder().node("n", cpu_milli=6)
    builder.pod("running", cpu_milli=2, node="n")
    builder.pod("high", cpu_milli=2, priority=1)
    builder.pod("wide", cpu_milli=4)
    plan = pb.Plan(
        snapshot_id="snapshot-1",
        placements=[
            pb.Placement(pod_uid="high", node="n"),
            pb.Placement(pod_uid="wide", node="n"),
        ],
        evictions=[pb.Eviction(pod_uid="running", node="n")],
        tiers=[tier(1, 0, 1), tier(0, 1, 2, 3)],
    )

    assert rules_broken(builder.message, plan) == {"policy"}


@pytest.mark.parametrize(
    ("placements", "moves", "evictions", "tiers"),
    [
        ([], [("low", "a", "b")], [], [tier(1, 1, 1), tier(0, 2, 2, 2)]),
        ([], [], [("low", "a")], [tier(1, 1, 1), tier(0, 2, 1, 3)]),
        (
            [("waiting", "a")],
            [("high", "a", "b")],
            [],
            [tier(1, 1, 1, 2), tier(0, 2, 3, 2)],
        ),
    ],
    ids=["moves for nothing", "loses a pod", "moves a higher pod for a lower one"],
)
def test_a_plan_that_is_not_better_tier_by_tier_is_caught(
    placements: list[tuple[str, str]],
    moves: list[tuple[str, str, str]],
    evictions: list[tuple[str, str]],
    tiers: list[pb.TierResult],
) -> None:
    """Never worse than before, by the objective's own order (R14)."""
    builder = SnapshotBuilder().node("a").node("b")
    builder.pod("high", priority=1, node="a").pod("low", node="a").pod("waiting")
    plan = pb.Plan(snapshot_id="snapshot-1", tiers=tiers)
    for uid, node in placements:
        plan.placements.add(pod_uid=uid, node=node)
    for uid, source, target in moves:
        plan.moves.add(pod_uid=uid, from_node=source, to_node=target)
    for uid, node in evictions:
        plan.evictions.add(pod_uid=uid, node=node)

    assert "worth" in rules_broken(builder.message, plan, pb.POLICY_PAPER)


def test_an_overcommitted_node_may_keep_its_pods_but_take_no_more() -> None:
    """Real clusters have such nodes; they must not stop every plan."""
    builder = SnapshotBuilder().node("full", cpu_milli=1).node("free", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="full").pod("b", cpu_milli=1)
    to_free = pb.Plan(
        snapshot_id="snapshot-1",
        placements=[pb.Placement(pod_uid="b", node="free")],
        tiers=[tier(0, 1, 2)],
    )
    to_full = pb.Plan(
        snapshot_id="snapshot-1",
        placements=[pb.Placement(pod_uid="b", node="full")],
        tiers=[tier(0, 1, 2)],
    )

    assert rules_broken(builder.message, to_free) == set()
    assert rules_broken(builder.message, to_full) == {"capacity"}
