"""Pods tied by budgets, limits and demands: what moves, and what may be claimed."""

from collections.abc import Callable

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import Answer, FindsNothing, budget_of, decoded, finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.solution import NodesInUse, Solution
from stowage_optimizer.stages import pipeline
from stowage_optimizer.verify import verify_plan

WEB = pb.LabelSelector(match_labels={"app": "web"})
CONSOLIDATE = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
MOVING = ("lexicographic", "paper", "cpsat-aggregated", "milp")


def answer_to(builder: SnapshotBuilder, strategy: str = "cpsat-aggregated", max_moves: int | None = None) -> Answer:
    """Return the answer, which the checker must let pass."""
    asked = pb.SolveOptions(strategy=strategy, seed=1, deterministic=True, max_moves=max_moves)
    answer = finished_answer_to(builder.message, asked)
    assert verify_plan(builder.message, answer.plan, pb.POLICY_STRICT, asked) == []
    return answer


def moved(plan: pb.Plan) -> dict[str, str]:
    return {one.pod_uid: one.to_node for one in plan.moves}


def placed(plan: pb.Plan) -> dict[str, str]:
    return {one.pod_uid: one.node for one in plan.placements}


def limits(plan: pb.Plan) -> tuple[int, int, bool]:
    (tier,) = plan.tiers
    return tier.placed, tier.upper_bound, tier.optimal


DEMANDS: dict[str, Callable[[pb.PodClass], object]] = {
    "none": lambda one: one,
    "port": lambda one: one.host_ports.add(port=80),
    "spread": lambda one: one.topology_spread.add(
        max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule", label_selector=WEB
    ),
    "apart": lambda one: one.required_pod_anti_affinity.add(topology_key="zone", label_selector=WEB),
    "apart by host": lambda one: one.required_pod_anti_affinity.add(topology_key="host", label_selector=WEB),
    "near": lambda one: one.required_pod_affinity.add(topology_key="zone", label_selector=WEB),
}
"""What the class ``web`` demands, mostly of its own pods."""


def cluster(a: int, b: int, c: int = 0, *, demand: str, web: int = 2) -> SnapshotBuilder:
    """Return nodes a and b in zone x and c in zone y of the sizes given, without zeros.

    The class ``web`` has a size too.
    """
    builder = SnapshotBuilder()
    for name, zone, size in (("a", "x", a), ("b", "x", b), ("c", "y", c)):
        if size:
            labels = {"zone": zone, "host": name}
            builder.node(name, labels=labels, cpu_milli=size)
    one = builder.pod_class("web", cpu_milli=web)
    one.labels["app"] = "web"
    DEMANDS[demand](one)
    return builder


def budget_over_web(builder: SnapshotBuilder, allowed: int) -> None:
    builder.message.disruption_budgets.add(namespace="default", name="web", selector=WEB, disruptions_allowed=allowed)


@pytest.mark.parametrize("strategy", MOVING)
@pytest.mark.parametrize(("stays", "goes"), [("a", "z"), ("z", "a")])
def test_the_pod_of_a_budget_that_is_in_the_way_is_the_one_that_goes(stays: str, goes: str, strategy: str) -> None:
    """Whichever it is called, and whichever is the cheapest."""
    builder = cluster(4, 6, demand="none").pod("wide", cpu_milli=6)
    builder.pod(stays, of="web", node="a").pod(goes, of="web", node="b")
    pod = builder.message.pods[-1]
    pod.deletion_cost, pod.age_s = 100, 100
    budget_over_web(builder, 1)

    plan = answer_to(builder, strategy).plan

    assert moved(plan) == {goes: "a"}
    assert plan.optimal
    assert [(one.moves, one.placed) for one in plan.gain_by_moves] == [(0, 2), (1, 3)]


def test_a_budget_is_kept_to_where_nodes_are_emptied() -> None:
    """Two pods would have to move, and that they may not is part of the proof."""
    builder = cluster(4, 4, demand="none", web=1)
    for index, node in enumerate("aabb"):
        builder.pod(f"w{index}", of="web", node=node)
    free = finished_answer_to(builder.message, CONSOLIDATE)
    budget_over_web(builder, 1)

    answer = finished_answer_to(builder.message, CONSOLIDATE)

    assert free.plan.nodes_in_use.after == 1
    assert answer.solution.empty
    assert answer.solution.nodes_in_use == NodesInUse(2, 2, 2, 0)


def test_that_pods_with_demands_stay_is_no_limit_on_nodes_in_use() -> None:
    """They are left where they are; a plan that moved them might empty more."""
    builder = cluster(4, 4, 4, demand="spread")
    builder.pod("w", of="web", node="a").pod("plain", cpu_milli=2, node="b")

    answer = finished_answer_to(builder.message, CONSOLIDATE)

    assert answer.solution.nodes_in_use == NodesInUse(2, 1, 1, 1)


def test_what_demands_cost_is_proved_too() -> None:
    """Both zones have room, but pods that keep apart by zone can be only two."""
    builder = cluster(2, 2, 2, demand="apart")
    builder.pod("w0", of="web").pod("w1", of="web").pod("w2", of="web")

    plan = answer_to(builder).plan

    assert limits(plan) == (2, 2, True)
    assert plan.tiers[0].place.method == pb.PROOF_METHOD_CP_SAT


@pytest.mark.parametrize(
    ("strategy", "keys", "known"),
    [
        ("cpsat-aggregated", ["zone"], (2, 2, True)),
        ("cpsat-aggregated", ["zone", "host"], (2, 3, False)),
        ("first-fit-decreasing", ["zone"], (2, 2, True)),
    ],
)
def test_who_has_affinity_to_itself_starts_in_one_domain_only(
    strategy: str, keys: list[str], known: tuple[int, int, bool]
) -> None:
    """The first may come anywhere; over two keys no row says where.

    Two fit together on one node only, where a third would find room without.
    """
    builder = cluster(2, 0, 2, demand="none", web=1)
    for key in keys:
        builder.message.pod_classes[0].required_pod_affinity.add(topology_key=key, label_selector=WEB)
    builder.pod("w0", of="web").pod("w1", of="web").pod("w2", of="web")

    assert limits(answer_to(builder, strategy).plan) == known


def test_where_there_is_no_time_for_them_pods_with_demands_wait() -> None:
    """The answer is there within the limit, whatever it leaves undone."""
    builder = cluster(2, 2, 2, demand="spread").pod("w0", of="web")
    asked = pb.SolveOptions(strategy="first-fit-decreasing", time_limit_s=1e-6)

    answer = finished_answer_to(builder.message, asked)

    assert answer.solution.empty
    assert [one.reason for one in answer.refusals] == ["topology-spread"]


@pytest.mark.parametrize("moved_per_s", [0, pipeline.MOVED_PER_S])
def test_what_fits_as_things_are_is_placed_whatever_a_strategy_finds(
    moved_per_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No stage makes an answer worse than the scheduler would do by itself."""
    monkeypatch.setattr(pipeline, "MOVED_PER_S", moved_per_s)
    builder = cluster(4, 4, 4, demand="spread")
    builder.pod("w0", of="web").pod("w1", of="web").pod("plain")
    seen: list[Solution] = []
    budget = budget_of(SolveOptions(time_limit_s=5.0))

    packings = pipeline.Packings(decoded(builder.message))
    found = pipeline.solve(FindsNothing(), packings, budget, seen.append)

    assert len(placed(encode_plan(found))) == 3
    assert any(len(placed(encode_plan(one))) == 3 for one in seen)


def in_the_way() -> SnapshotBuilder:
    """Return a large pod that fits on a if the pod with demands there goes to b."""
    builder = cluster(4, 4, 4, demand="spread").pod("w", of="web", node="a")
    builder.pod("plain", cpu_milli=2, node="b", movable=False)
    builder.pod("other", cpu_milli=4, node="c", movable=False)
    return builder.pod("wide", cpu_milli=4)


def test_in_a_hurry_pods_with_demands_stay_and_nothing_is_called_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """That they were left out is nothing that the cluster demands."""
    monkeypatch.setattr(pipeline, "MOVED_PER_S", 0)
    seen: list[Solution] = []

    answer = finished_answer_to(in_the_way().message, pb.SolveOptions(time_limit_s=5.0), published=seen)

    assert limits(answer.plan) == (3, 4, False)
    assert not any(one.optimal for one in seen)


def test_waiting_pods_that_are_left_out_tie_no_others() -> None:
    """Without them, pods that they want to be apart from are as free as any."""
    builder = cluster(4, 4, demand="none").pod("w", of="web", node="a")
    lonely = builder.pod_class("lonely")
    lonely.required_pod_anti_affinity.add(topology_key="zone", label_selector=WEB)
    builder.pod("l0", of="lonely").pod("l1", of="lonely")
    packings = pipeline.Packings(decoded(builder.message))

    assert packings.plain.ties == ()
    assert not packings.related.divisible


def shop(nodes: int, *, near: bool = True) -> SnapshotBuilder:
    """Return the shop on nodes of 900 millicores, with no pod running yet."""
    builder = SnapshotBuilder()
    for number in range(nodes):
        builder.node(f"n{number}", cpu_milli=900, labels={"host": f"n{number}"})
    for app, replicas, cpu_milli in (
        ("backend", 3, 300), ("cache", 3, 200), ("frontend", 3, 300), ("proxy", 2, 300),
    ):  # fmt: skip
        one = builder.pod_class(app, cpu_milli=cpu_milli)
        one.labels["app"] = app
        if app in {"backend", "frontend"}:
            _term(one.required_pod_anti_affinity.add(), app)
        if app == "backend" and near:
            _term(one.required_pod_affinity.add(), "frontend")
        for number in range(replicas):
            builder.pod(f"{app}-{number}", of=app)
    return builder


def _term(term: pb.PodAffinityTerm, app: str) -> None:
    term.topology_key = "host"
    term.label_selector.match_labels["app"] = app


def placed_by_boreas(builder: SnapshotBuilder) -> dict[str, str]:
    plan = answer_to(builder, "boreas").plan
    assert not plan.moves
    assert not plan.evictions
    return placed(plan)


@pytest.mark.parametrize(("nodes", "near", "used"), [(4, True, 4), (4, False, 4), (8, True, 4), (2, True, 0)])
def test_the_affinity_test_is_placed_on_as_few_nodes_as_relations_allow(nodes: int, near: bool, used: int) -> None:
    """83 % of four nodes' CPU is asked for, and the stock scheduler mostly fails.

    Two nodes cannot keep three frontends apart: then the batch stays pending whole.
    """
    where = placed_by_boreas(shop(nodes, near=near))

    assert (len(where), len(set(where.values()))) == (11 if used else 0, used)
    frontends, backends = (
        {where[f"{app}-{number}"] for number in range(3) if where} for app in ("frontend", "backend")
    )
    assert len(frontends) == len(backends) == (3 if used else 0)
    assert frontends == backends or not near
