"""Batches whose pods demand something of each other: the second test of "Boreas"."""

from __future__ import annotations

from collections import Counter

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan

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


def placed(snapshot: pb.Snapshot) -> dict[str, str]:
    """Return the node of each pod that the plan places; the plan is checked."""
    plan = finished_answer_to(snapshot, ASKED).plan
    assert verify_plan(snapshot, plan, pb.POLICY_STRICT, ASKED) == []
    assert not plan.moves
    assert not plan.evictions
    return {one.pod_uid: one.node for one in plan.placements}


def test_the_affinity_test_is_placed_on_four_nodes() -> None:
    """83 % of the CPU is asked for, and the stock scheduler mostly fails."""
    where = placed(shop(4))

    assert len(where) == 11
    frontends = {where[f"frontend-{number}"] for number in range(3)}
    assert frontends == {where[f"backend-{number}"] for number in range(3)}
    assert len(frontends) == 3


def test_as_few_nodes_are_used_as_relations_allow() -> None:
    """Half of the nodes that there are stay empty for others."""
    assert len(set(placed(shop(8)).values())) == 4


def test_a_batch_whose_relations_cannot_be_kept_stays_pending_whole() -> None:
    """All or nothing: two nodes cannot keep three frontends apart."""
    assert placed(shop(2)) == {}


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

    where = placed(builder.message)

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

    assert placed(builder.message) == {"backend-0": "taken"}


def test_one_relation_fewer_is_placed_as_well() -> None:
    """Backends that need no frontend may still not meet each other."""
    assert len(placed(shop(4, near=False))) == 11
