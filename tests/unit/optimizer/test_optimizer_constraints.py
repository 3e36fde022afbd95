"""Each Kubernetes constraint by itself, a row a rule."""

from __future__ import annotations

import pytest
from snapshot_builder import GB, SnapshotBuilder
from solving_in_process import answer_to, empty

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_snapshot
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.packing import Packing


def packing_of(snapshot: pb.Snapshot) -> Packing:
    issues = Issues()
    model = decode_snapshot(snapshot, issues)
    issues.raise_if_any()
    return reduce_snapshot(model)


def eligible(snapshot: pb.Snapshot) -> list[str]:
    packing = packing_of(snapshot)
    return [packing.node_names[node] for node in packing.items[0].eligible]


def wanting(**fields: object) -> tuple[SnapshotBuilder, pb.PodClass]:
    """Return a builder with nodes `ssd` and `hdd`, and a class with one pending pod."""
    builder = SnapshotBuilder()
    builder.node("ssd", labels={"disk": "ssd", "gen": "7"}).node("hdd")
    pod_class = builder.pod_class("wants")
    pod_class.MergeFrom(pb.PodClass(**fields))  # type: ignore[arg-type] # any field
    builder.pod("pod", of="wants")
    return builder, pod_class


@pytest.mark.parametrize(
    ("key", "operator", "values", "nodes"),
    [
        ("disk", "In", ["ssd", "nvme"], ["ssd"]),
        ("disk", "NotIn", ["ssd"], ["hdd"]),
        ("disk", "Exists", [], ["ssd"]),
        ("disk", "DoesNotExist", [], ["hdd"]),
        ("gen", "Gt", ["6"], ["ssd"]),
        ("gen", "Gt", ["7"], []),
        ("gen", "Lt", ["8"], ["ssd"]),
        ("disk", "Lt", ["8"], []),
    ],
)
def test_node_affinity_by_operator(
    key: str, operator: str, values: list[str], nodes: list[str]
) -> None:
    """Gt and Lt need numbers on both sides; a missing label is in no set."""
    builder, pod_class = wanting()
    term = pod_class.required_node_affinity.add()
    term.match_expressions.add(key=key, operator=operator, values=values)

    assert eligible(builder.message) == nodes


def test_node_affinity_terms_are_alternatives_and_an_empty_one_matches_nothing() -> (
    None
):
    """As the API documents."""
    builder, pod_class = wanting()
    pod_class.required_node_affinity.add()
    term = pod_class.required_node_affinity.add()
    term.match_fields.add(key="metadata.name", operator="In", values=["hdd"])

    assert eligible(builder.message) == ["hdd"]


def test_a_node_selector_needs_label_and_value() -> None:
    """A missing label is not an empty one."""
    builder, pod_class = wanting()
    pod_class.node_selector["disk"] = "ssd"

    assert eligible(builder.message) == ["ssd"]


def test_a_node_name_is_the_only_node() -> None:
    """Set by users who bypass the scheduler."""
    builder, _ = wanting(node_name="hdd")

    assert eligible(builder.message) == ["hdd"]


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (pb.Toleration(key="k", operator="Exists"), True),
        (pb.Toleration(key="k", operator="Equal", value="v"), True),
        (pb.Toleration(key="k", value="v"), True),
        (pb.Toleration(key="k", value="w"), False),
        (pb.Toleration(operator="Exists"), True),
        (pb.Toleration(key="k", operator="Exists", effect="NoSchedule"), True),
        (pb.Toleration(key="k", operator="Exists", effect="NoExecute"), False),
        (pb.Toleration(key="other", operator="Exists"), False),
    ],
)
def test_taints_and_tolerations(toleration: pb.Toleration, tolerated: bool) -> None:
    """No operator means Equal, no effect every effect, no key with Exists every key."""
    builder, pod_class = wanting()
    builder.message.nodes[0].taints.add(key="k", value="v", effect="NoSchedule")
    pod_class.tolerations.append(toleration)

    assert ("ssd" in eligible(builder.message)) is tolerated


def test_a_cordoned_node_takes_none_but_those_who_tolerate_it() -> None:
    """DaemonSet pods carry this toleration."""
    builder, pod_class = wanting()
    builder.message.nodes[0].unschedulable = True

    assert eligible(builder.message) == ["hdd"]
    pod_class.tolerations.add(key="node.kubernetes.io/unschedulable", operator="Exists")
    assert eligible(builder.message) == ["ssd", "hdd"]


def test_a_forbidden_pair_is_honoured() -> None:
    """The scheduler's own filters refused it when a plan was replayed."""
    builder, _ = wanting()
    builder.message.forbidden_pairs.add(class_id="wants", node="ssd")

    assert eligible(builder.message) == ["hdd"]


def test_every_volume_must_be_reachable() -> None:
    """The terms of one volume are alternatives; two volumes must agree."""
    builder, pod_class = wanting()
    either = pod_class.volume_node_affinity.add()
    for name in ("ssd", "hdd"):
        term = either.terms.add()
        term.match_fields.add(key="metadata.name", operator="In", values=[name])

    assert eligible(builder.message) == ["ssd", "hdd"]
    other = pod_class.volume_node_affinity.add().terms.add()
    other.match_fields.add(key="metadata.name", operator="In", values=["hdd"])
    assert eligible(builder.message) == ["hdd"]
    pod_class.volume_node_affinity.add()
    assert eligible(builder.message) == []


@pytest.mark.parametrize("resource", ["disk", "gpu"])
def test_every_requested_resource_must_be_there(resource: str) -> None:
    """A node that does not list a resource has none of it."""
    builder = SnapshotBuilder()
    gpu = {"example.com/gpu": 1}
    builder.node("with", extended=gpu, ephemeral_storage_bytes=5).node("without")
    if resource == "gpu":
        builder.pod_class("wants", extended=gpu)
    else:
        builder.pod_class("wants", ephemeral_storage_bytes=5)
    builder.pod("pod", of="wants")

    assert eligible(builder.message) == ["with"]


def test_the_number_of_pods_is_a_resource() -> None:
    """Small pods fill a node long before its memory is gone."""
    builder = SnapshotBuilder().node("n", pods=2)
    for name in ("a", "b", "c"):
        builder.pod(name)

    plan = answer_to(builder.message).plan

    assert len(plan.placements) == 2
    assert plan.optimal


def test_reservations_take_room() -> None:
    """They are held for other pods."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    builder.message.reservations.add(
        name="held", node="n", held=pb.Resources(cpu_milli=3)
    )
    builder.pod("small", cpu_milli=1).pod("large", cpu_milli=2)

    plan = answer_to(builder.message).plan

    assert [one.pod_uid for one in plan.placements] == ["small"]


def test_a_running_pod_may_stay_where_it_could_no_longer_come() -> None:
    """All of these rules are ignored during execution."""
    builder = SnapshotBuilder().node("cordoned", cpu_milli=4, unschedulable=True)
    builder.pod("a", cpu_milli=4, node="cordoned").pod("b", cpu_milli=1)

    plan = answer_to(builder.message).plan

    assert empty(plan)
    assert plan.optimal


def test_units_are_the_largest_exact_ones() -> None:
    """Coefficients of 10^9 slow the solver down and mean nothing."""
    builder = SnapshotBuilder().node("n", memory_bytes=7 * GB + 1)
    builder.pod("a", memory_bytes=2 * GB).pod("b", memory_bytes=3 * GB)

    packing = packing_of(builder.message)

    memory = 1
    assert [item.demand[memory] for item in packing.items] == [2, 3]
    assert packing.room[0][memory] == 7


def test_an_overcommitted_node_does_not_stop_the_rest() -> None:
    """It must not get worse, but it need not get better."""
    builder = SnapshotBuilder().node("full", cpu_milli=1).node("free", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="full").pod("b", cpu_milli=2, node="full")
    builder.pod("c", cpu_milli=3)

    plan = answer_to(builder.message).plan

    assert [(one.pod_uid, one.node) for one in plan.placements] == [("c", "free")]
    assert not plan.moves
    assert not plan.evictions
    assert plan.optimal
