"""Pods with demands on each other are placed and moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import Answer, budget_of, decoded, finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import EndReason, Publish, Solution
from stowage_optimizer.stages.pipeline import Packings, solve
from stowage_optimizer.strategies.first_fit_decreasing import FirstFitDecreasing
from stowage_optimizer.verify import verify_plan

WEB = pb.LabelSelector(match_labels={"app": "web"})
ZONES = {"a": "x", "b": "x", "c": "y"}


def answer_to(builder: SnapshotBuilder, max_moves: int | None = None) -> Answer:
    options = pb.SolveOptions(
        strategy="cpsat-aggregated", seed=1, deterministic=True, max_moves=max_moves
    )
    answer = finished_answer_to(builder.message, options)
    message = answer.plan
    assert verify_plan(builder.message, message, pb.POLICY_STRICT, options) == []
    return answer


def moved(plan: pb.Plan) -> list[tuple[str, str]]:
    return [(one.pod_uid, one.to_node) for one in plan.moves]


def placed(plan: pb.Plan) -> list[tuple[str, str]]:
    return sorted((one.pod_uid, one.node) for one in plan.placements)


def zones(*, cpu_milli: dict[str, int]) -> SnapshotBuilder:
    """Return nodes a and b in zone x, c in zone y, each of the size given."""
    builder = SnapshotBuilder()
    for name, zone in ZONES.items():
        labels = {"zone": zone, "host": name}
        builder.node(name, labels=labels, cpu_milli=cpu_milli[name])
    return builder


def web_class(builder: SnapshotBuilder, kind: str, *, cpu_milli: int) -> pb.PodClass:
    """Add the class ``web`` with a demand of ``kind`` on its own pods by zone."""
    one = builder.pod_class("web", cpu_milli=cpu_milli)
    one.labels["app"] = "web"
    if kind == "spread":
        one.topology_spread.add(
            max_skew=1,
            topology_key="zone",
            when_unsatisfiable="DoNotSchedule",
            label_selector=WEB,
        )
    elif kind == "apart":
        one.required_pod_anti_affinity.add(topology_key="zone", label_selector=WEB)
    elif kind == "apart by host":
        one.required_pod_anti_affinity.add(topology_key="host", label_selector=WEB)
    elif kind == "port":
        one.host_ports.add(port=80)
    else:
        one.required_pod_affinity.add(topology_key="zone", label_selector=WEB)
    return one


@pytest.mark.parametrize("kind", ["spread", "apart"])
def test_a_running_pod_moves_within_what_it_demands(kind: str) -> None:
    """Zone x has room for the large pod if the web pod there takes the other node."""
    builder = zones(cpu_milli={"a": 4, "b": 2, "c": 2})
    web_class(builder, kind, cpu_milli=2)
    builder.pod("w0", of="web", node="a").pod("w1", of="web", node="c")
    builder.pod("large", cpu_milli=4)

    answer = answer_to(builder)

    assert moved(answer.plan) == [("w0", "b")]
    assert placed(answer.plan) == [("large", "a")]
    assert answer.plan.optimal
    assert answer.end_reason is EndReason.OPTIMAL
    assert answer.refusals == ()


def test_others_make_room_where_a_pod_with_demands_must_be() -> None:
    """The pod that it needs is in zone x, only zone y has room.

    Without what it demands no move would be needed; that one is, is proved with it.
    """
    builder = zones(cpu_milli={"a": 2, "b": 2, "c": 2})
    web_class(builder, "near", cpu_milli=2)
    builder.pod("w0", of="web", node="a").pod("plain", cpu_milli=2, node="b")
    builder.pod("w1", of="web")

    answer = answer_to(builder)

    assert moved(answer.plan) == [("plain", "c")]
    assert placed(answer.plan) == [("w1", "b")]
    (tier,) = answer.plan.tiers
    assert tier.placed == tier.upper_bound == 3
    assert (tier.disruption, tier.disruption_lower_bound, tier.optimal) == (2, 2, True)


def test_what_demands_cost_is_proved_too() -> None:
    """Both zones have room, but pods that keep apart by zone can be only two."""
    builder = zones(cpu_milli={"a": 2, "b": 2, "c": 2})
    web_class(builder, "apart", cpu_milli=2)
    for index in range(3):
        builder.pod(f"w{index}", of="web")

    plan = answer_to(builder).plan

    (tier,) = plan.tiers
    assert (tier.placed, tier.upper_bound) == (2, 2)
    assert tier.place.method == pb.PROOF_METHOD_CP_SAT
    assert plan.optimal


def test_the_limit_of_the_easier_problem_is_told_where_nothing_else_is_proved() -> None:
    """Who has affinity to itself over two keys may start anywhere: no row says where.

    Two fit together on one node only, where a third would find room without.
    """
    builder = two_nodes_for_three("zone", "host")

    plan = answer_to(builder).plan

    assert (plan.tiers[0].placed, plan.tiers[0].upper_bound) == (2, 3)
    assert not plan.optimal


def test_who_has_affinity_to_itself_starts_in_one_domain_only() -> None:
    """The first may come anywhere; whoever comes elsewhere has nobody there."""
    builder = two_nodes_for_three("zone")

    plan = answer_to(builder).plan

    assert (plan.tiers[0].placed, plan.tiers[0].upper_bound) == (2, 2)
    assert plan.optimal


def two_nodes_for_three(*keys: str) -> SnapshotBuilder:
    """Return three pods that want to be together by ``keys``, and room for two."""
    builder = SnapshotBuilder()
    for name in ("a", "b"):
        builder.node(name, cpu_milli=2, labels={"zone": name, "host": name})
    one = builder.pod_class("web", cpu_milli=1)
    one.labels["app"] = "web"
    for key in keys:
        one.required_pod_affinity.add(topology_key=key, label_selector=WEB)
    for index in range(3):
        builder.pod(f"w{index}", of="web")
    return builder


def test_limits_hold_for_pods_with_demands_too() -> None:
    """No moves means that the large pod waits."""
    builder = zones(cpu_milli={"a": 4, "b": 2, "c": 2})
    web_class(builder, "spread", cpu_milli=2)
    builder.pod("w0", of="web", node="a").pod("w1", of="web", node="c")
    builder.pod("large", cpu_milli=4)

    assert answer_to(builder, max_moves=0).solution.empty


def broken_already(kind: str) -> SnapshotBuilder:
    """Return running web pods that break their own demand, and room in both zones."""
    builder = zones(cpu_milli={"a": 4, "b": 8, "c": 8})
    web_class(builder, kind, cpu_milli=2)
    if kind == "near":
        one = builder.message.pod_classes[-1].required_pod_affinity[0]
        one.label_selector.match_labels["app"] = "gone"
    other = "a" if kind in ("apart by host", "port") else "b"
    return builder.pod("w0", of="web", node="a").pod("w1", of="web", node=other)


@pytest.mark.parametrize("kind", ["spread", "apart", "near", "apart by host", "port"])
def test_a_relation_that_is_broken_already_stops_nobody_else(kind: str) -> None:
    """Who runs may stay: all of these are ignored during execution."""
    builder = broken_already(kind)
    builder.pod("plain", cpu_milli=8)

    plan = answer_to(builder).plan

    assert [one.pod_uid for one in plan.placements] == ["plain"]
    assert not plan.moves
    assert plan.optimal


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [
        ("spread", {"c"}),
        ("apart", {"c"}),
        ("near", set()),
        ("apart by host", {"b", "c"}),
        ("port", {"b", "c"}),
    ],
)
def test_a_relation_that_is_broken_already_gets_no_worse(
    kind: str, nodes: set[str]
) -> None:
    """More may come only where the scheduler would let them."""
    builder = broken_already(kind)
    builder.pod("w2", of="web").pod("w3", of="web")

    plan = answer_to(builder).plan

    assert {one.node for one in plan.placements} == nodes
    assert len(plan.placements) == (2 if kind == "spread" else len(nodes))
    assert not plan.moves


@dataclass(frozen=True, slots=True)
class Chatty:
    """Has plans on the way to its last one, if ``talks``: equal ones, elsewhere."""

    talks: bool

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        found = FirstFitDecreasing().solve(packing, budget, _unheard)
        for node in ("c", "b") if self.talks else ():
            elsewhere = packing.node_names.index(node)
            moved_on = (elsewhere,) * len(packing.current)
            publish(replace(found, assignment=moved_on))
        return found


def _unheard(_solution: Solution) -> None:
    """Take no notice."""


def test_what_is_heard_on_the_way_changes_no_answer_where_steps_are_counted() -> None:
    """A strategy with threads of its own tells of more or fewer plans each time."""
    builder = zones(cpu_milli={"a": 4, "b": 4, "c": 4})
    web_class(builder, "apart", cpu_milli=2)
    snapshot = decoded(builder.pod("w0", of="web").message)
    options = SolveOptions(deterministic=True, workers=1)

    silent, talkative = (
        encode_plan(
            solve(Chatty(talks), Packings(snapshot), budget_of(options), _unheard)
        )
        for talks in (False, True)
    )

    assert placed(silent)
    assert placed(talkative) == placed(silent)


HOST = "kubernetes.io/hostname"
ASKED = pb.SolveOptions(strategy="boreas", deterministic=True)


def shop(nodes: int, *, near: bool = True) -> pb.Snapshot:
    """Return the shop on nodes of 900 millicores, with no pod running yet."""
    builder = SnapshotBuilder()
    for number in range(nodes):
        name = f"n{number}"
        builder.node(name, cpu_milli=900, labels={HOST: name})
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
    return builder.message


def _term(term: pb.PodAffinityTerm, app: str) -> None:
    term.topology_key = HOST
    term.label_selector.match_labels["app"] = app


def placed_by_boreas(snapshot: pb.Snapshot) -> dict[str, str]:
    """Return the node of each pod that the plan places; the plan is checked."""
    plan = finished_answer_to(snapshot, ASKED).plan
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT, ASKED) == []
    assert not plan.moves
    assert not plan.evictions
    return {one.pod_uid: one.node for one in plan.placements}


@pytest.mark.parametrize("near", [True, False])
def test_the_affinity_test_is_placed_on_four_nodes(near: bool) -> None:
    """83 % of the CPU is asked for, and the stock scheduler mostly fails.

    Backends that need no frontend may still not meet each other.
    """
    where = placed_by_boreas(shop(4, near=near))

    assert len(where) == 11
    frontends = {where[f"frontend-{number}"] for number in range(3)}
    backends = {where[f"backend-{number}"] for number in range(3)}
    assert len(frontends) == len(backends) == 3
    assert frontends == backends or not near


def test_as_few_nodes_are_used_as_relations_allow() -> None:
    """Half of the nodes that there are stay empty for others."""
    assert len(set(placed_by_boreas(shop(8)).values())) == 4


def test_a_batch_whose_relations_cannot_be_kept_stays_pending_whole() -> None:
    """All or nothing: two nodes cannot keep three frontends apart."""
    assert placed_by_boreas(shop(2)) == {}


@pytest.mark.parametrize(("skew", "pods"), [(1, 4), (2, 6)])
def test_spread_is_kept_by_whole_batches(skew: int, pods: int) -> None:
    """The operator that the paper names as left for later."""
    builder = SnapshotBuilder()
    for number, zone in enumerate(("a", "a", "b")):
        builder.node(f"n{number}", cpu_milli=300, labels={"zone": zone})
    one = builder.pod_class("web", cpu_milli=100)
    one.labels["app"] = "web"
    spread = one.topology_spread.add(max_skew=skew, topology_key="zone")
    spread.when_unsatisfiable = "DoNotSchedule"
    spread.label_selector.match_labels["app"] = "web"
    for number in range(pods):
        builder.pod(f"web-{number}", of="web")

    where = placed_by_boreas(builder.message)

    counts = Counter("b" if node == "n2" else "a" for node in where.values())
    assert sum(counts.values()) == pods
    assert abs(counts["a"] - counts["b"]) <= skew


def test_those_who_run_count_for_relations() -> None:
    """A backend goes to the frontend that is there, though another node is empty."""
    builder = SnapshotBuilder()
    for name in ("empty", "taken"):
        builder.node(name, cpu_milli=900, labels={HOST: name})
    builder.pod_class("frontend", cpu_milli=300).labels["app"] = "frontend"
    backend = builder.pod_class("backend", cpu_milli=300)
    _term(backend.required_pod_affinity.add(), "frontend")
    builder.pod("frontend-0", of="frontend", node="taken")
    builder.pod("backend-0", of="backend")

    assert placed_by_boreas(builder.message) == {"backend-0": "taken"}
