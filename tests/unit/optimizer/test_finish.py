"""Plans keep within limits, say what moves gain, and are finished in time."""

import time

import pytest
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import Answer, decoded, empty, finished_answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import Limits, Policy, SolveOptions
from stowage_optimizer.model.solution import EndReason, GainPoint, NodesInUse
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.ties.registry import within_limits
from stowage_optimizer.verify import verify_plan


def asking(**limits: float) -> pb.SolveOptions:
    asked = pb.SolveOptions(**limits)  # type: ignore[arg-type] # any field
    asked.strategy = "cpsat-aggregated"
    return asked


def plan_for(snapshot: pb.Snapshot, **limits: float) -> pb.Plan:
    """Return the plan within limits, which the checker must let pass."""
    asked = asking(**limits)
    plan = finished_answer_to(snapshot, asked).plan
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT, asked) == []
    return plan


def two_moves() -> pb.Snapshot:
    """Return two pairs of nodes; in each a move lets a waiting pod in."""
    builder = SnapshotBuilder()
    for pair in ("a", "b"):
        for name in (f"{pair}1", f"{pair}2"):
            builder.node(name, cpu_milli=4)
            builder.pod(f"at-{name}", cpu_milli=2, node=name)
        builder.pod(f"wants-{pair}", cpu_milli=3)
    for one in builder.message.pod_classes:
        one.owner.uid = "web"
    return builder.message


def test_moves_that_gain_too_little_are_not_made() -> None:
    """One pod for two moves is less than one for each."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2", "n3"):
        builder.node(name, cpu_milli=4).pod(f"at-{name}", cpu_milli=2, node=name)
    builder.node("n4", cpu_milli=1)
    builder.pod("one", cpu_milli=1, node="n4").pod("wants", cpu_milli=4)

    assert len(plan_for(builder.message).moves) == 1
    assert empty(plan_for(builder.message, min_gain_per_move=1.5))


def test_the_curve_tells_what_each_move_gains() -> None:
    """At the start no pod more; then a pod a move."""
    solution = finished_answer_to(two_moves(), asking()).solution

    assert solution.gain_by_moves == (GainPoint(0, 4), GainPoint(1, 5), GainPoint(2, 6))


@pytest.mark.parametrize(
    ("costs", "ages", "goes"),
    [([5, -1, 5], [9, 9, 9], "r1"), ([0, 0, 0], [9, 9, 1], "r2"), ([1, 2, 3], [9, 2, 1], "r0")],
)
def test_the_replica_goes_whose_loss_costs_least(costs: list[int], ages: list[int], goes: str) -> None:
    """The lowest deletion cost first, then the youngest."""
    builder = SnapshotBuilder().node("n1", cpu_milli=6, labels={"disk": "ssd"})
    builder.node("n2", cpu_milli=2).pod_class("web", cpu_milli=2)
    for index, (cost, age) in enumerate(zip(costs, ages, strict=True)):
        builder.pod(f"r{index}", of="web", node="n1")
        pod = builder.message.pods[-1]
        pod.deletion_cost, pod.age_s = cost, age
    builder.pod_class("big", cpu_milli=2).node_selector["disk"] = "ssd"
    builder.pod("wants", of="big")

    plan = plan_for(builder.message)

    assert [one.pod_uid for one in plan.moves] == [goes]


def consolidated(*pods: tuple[str, str, int], owner: str = "", **limits: int) -> tuple[Answer, SnapshotBuilder]:
    """Return the answer for pods, each by name, node of four cores and its cores."""
    builder = SnapshotBuilder()
    for node in dict.fromkeys(node for _, node, _ in pods):
        builder.node(node, cpu_milli=4)
    for name, node, cpu_milli in pods:
        builder.pod(name, cpu_milli=cpu_milli, node=node)
    for one in builder.message.pod_classes:
        one.owner.uid = owner
    asked = pb.SolveOptions(**limits)  # type: ignore[arg-type] # any field
    asked.objective = pb.OBJECTIVE_CONSOLIDATE
    return finished_answer_to(builder.message, asked), builder


@pytest.mark.parametrize("reason", ["daemonset", "mirror", "static", "singleton"])
def test_what_is_there_for_its_node_does_not_keep_it_in_use(reason: str) -> None:
    """It would go with the node; every other pod that may not move keeps it."""
    _, builder = consolidated(("a", "n1", 2), ("b", "n2", 1))
    for name in ("n1", "n2"):
        builder.pod(f"daemon-{name}", node=name, movable=False)
        builder.message.pods[-1].immovable_reason = reason
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    plan = finished_answer_to(builder.message, asked).plan

    assert len(plan.moves) == (0 if reason == "singleton" else 1)


@pytest.mark.parametrize(
    ("nodes", "disruptions", "found"),
    [
        pytest.param(2, 0, NodesInUse(2, 2, 2, 0), id="an owner is spared"),
        pytest.param(3, 1, NodesInUse(3, 2, 2, 1), id="counting proves it alone"),
    ],
)
def test_what_is_proved_of_nodes_in_use_is_proved_within_the_limits(
    nodes: int, disruptions: int, found: NodesInUse
) -> None:
    """Where no search may be made, totals of room and of pods still say something."""
    pods = [(f"p{number}", f"n{number}", 2) for number in range(nodes)]

    answer, _ = consolidated(*pods, owner="web", max_disruptions_per_owner=disruptions)

    assert answer.solution.nodes_in_use == found
    assert answer.solution.empty is (disruptions == 0)
    assert (answer.end_reason is EndReason.OPTIMAL) is (disruptions == 1)
    assert answer.message.endswith(": proved fewest, with fewest moves")


@pytest.mark.parametrize("policy", Policy)
def test_a_plan_that_there_is_no_time_to_trim_disrupts_no_pod(policy: Policy) -> None:
    """Who waits and fits still gets a node: that needs no steps."""
    message = SnapshotBuilder(figure_1()).pod("small", memory_bytes=1).message
    packing = reduce_snapshot(decoded(message))
    limits = Limits(max_moves=0)
    budget = TimeBudget(SolveOptions(policy=policy), time.monotonic, limit_s=0.0, ends=0.0)

    (tie,) = within_limits(packing, limits).ties
    trimmed = tie.repaired(packing, (1, 1, 0, None), budget)

    homes = [item.home for item in items_of(packing)]
    assert list(trimmed[:3]) == homes[:3]
    assert trimmed[3] is not None
