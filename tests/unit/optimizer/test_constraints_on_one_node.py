"""Host ports, anti-affinity by host name and budgets, as every strategy meets them."""

from __future__ import annotations

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_snapshot
from stowage_optimizer.model.decode.issues import Issues

Port = tuple[str, str, int]
HOST = "kubernetes.io/hostname"


def placed(builder: SnapshotBuilder) -> dict[str, str]:
    plan = answer_to(builder.message).plan
    return {one.pod_uid: one.node for one in plan.placements}


def dimensions(builder: SnapshotBuilder) -> int:
    """Return how many dimensions there are besides the four of every node."""
    packing = reduce_snapshot(decode_snapshot(builder.message, Issues()))
    return len(packing.room[0]) - 4


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("TCP", "", 80), ("TCP", "", 80), True),
        (("TCP", "", 80), ("", "0.0.0.0", 80), True),  # noqa: S104
        (("TCP", "", 80), ("UDP", "", 80), False),
        (("TCP", "", 80), ("TCP", "", 81), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "", 80), True),
    ],
)
def test_pods_whose_ports_clash_do_not_share_a_node(
    one: Port, other: Port, clash: bool
) -> None:
    """Protocol, address and number, as the NodePorts filter compares them."""
    builder = SnapshotBuilder().node("n")
    for name, (protocol, address, port) in {"a": one, "b": other}.items():
        builder.pod_class(name).host_ports.add(
            protocol=protocol, host_ip=address, port=port
        )
        builder.pod(name, of=name)

    assert len(placed(builder)) == (1 if clash else 2)


def test_a_port_for_every_address_clashes_with_each_of_two_that_do_not() -> None:
    """One dimension for the port alone would keep the two apart as well."""
    builder = SnapshotBuilder().node("n").node("m")
    for name, address in {"a": "10.0.0.1", "b": "10.0.0.2", "every": ""}.items():
        builder.pod_class(name).host_ports.add(port=80, host_ip=address)
        builder.pod(name, of=name)

    where = placed(builder)

    assert where["a"] == where["b"] != where["every"]


def test_ports_that_the_same_pods_take_are_one_dimension() -> None:
    """Every dimension costs every strategy time."""
    builder = SnapshotBuilder().node("n")
    for port in (80, 443):
        builder.pod("p", of="web") if port == 443 else builder.pod_class("web")
        builder.message.pod_classes[0].host_ports.add(port=port)
    assert dimensions(builder) == 0
    builder.pod("q", of="web")
    assert dimensions(builder) == 1


def test_two_pods_that_have_the_same_port_already_may_stay() -> None:
    """Bound by hand, past the filters: no reason to give up the whole snapshot."""
    builder = SnapshotBuilder().node("n")
    builder.pod_class("web").host_ports.add(port=80)
    builder.pod("a", of="web", node="n").pod("b", of="web", node="n")
    builder.pod("c", of="web").pod("free")

    assert placed(builder) == {"free": "n"}


def hosts(*names: str) -> SnapshotBuilder:
    builder = SnapshotBuilder()
    for name in names:
        builder.node(name, labels={HOST: name})
    return builder


def apart(builder: SnapshotBuilder, carrier: str, app: str) -> None:
    """Add a class labelled by its name that keeps away from pods of ``app``."""
    pod_class = builder.pod_class(carrier)
    pod_class.labels["app"] = carrier
    pod_class.required_pod_anti_affinity.add(
        topology_key=HOST, label_selector=pb.LabelSelector(match_labels={"app": app})
    )


def test_replicas_that_keep_apart_get_a_node_each() -> None:
    """The commonest anti-affinity of all."""
    builder = hosts("n", "m")
    apart(builder, "web", "web")
    for name in ("a", "b", "c"):
        builder.pod(name, of="web")

    assert sorted(placed(builder).values()) == ["m", "n"]


def test_two_revisions_that_keep_apart_are_one_dimension() -> None:
    """The template hash makes two classes of one Deployment that is rolled out."""
    builder = hosts("n", "m")
    for name in ("old", "new"):
        apart(builder, name, "web")
        builder.message.pod_classes[-1].labels["app"] = "web"
        builder.pod(f"{name}-1", of=name).pod(f"{name}-2", of=name)

    assert dimensions(builder) == 1
    assert len(placed(builder)) == 2


def test_selected_pods_share_a_node_and_a_carrier_keeps_off_all_of_them() -> None:
    """Only carriers take the whole node."""
    builder = hosts("n", "m")
    apart(builder, "web", "web")
    builder.pod_class("helper").labels["app"] = "web"
    builder.pod("carrier", of="web", node="m")
    for name in ("a", "b", "c"):
        builder.pod(name, of="helper")

    assert placed(builder) == dict.fromkeys(["a", "b", "c"], "n")


def test_one_carrier_keeps_off_what_it_selects_though_not_selected_itself() -> None:
    """And a running carrier keeps those away: symmetric, as in the scheduler."""
    builder = hosts("n", "m")
    apart(builder, "loud", "quiet")
    builder.pod_class("quiet").labels["app"] = "quiet"
    builder.pod("l", of="loud", node="n", movable=False)
    builder.pod("q1", of="quiet").pod("q2", of="quiet")

    assert placed(builder) == {"q1": "m", "q2": "m"}


def test_many_carriers_of_one_class_may_share_a_node_away_from_one_pod() -> None:
    """They select one pod, and not each other."""
    builder = hosts("n", "m")
    apart(builder, "loud", "quiet")
    builder.pod_class("quiet").labels["app"] = "quiet"
    builder.pod("q", of="quiet", node="n", movable=False)
    builder.pod("l1", of="loud").pod("l2", of="loud")

    assert placed(builder) == {"l1": "m", "l2": "m"}


def test_many_of_both_are_no_capacity_and_refused_by_name() -> None:
    """Any number of these or any number of those: no sum of amounts says that."""
    builder = hosts("n", "m")
    apart(builder, "loud", "quiet")
    builder.pod_class("quiet").labels["app"] = "quiet"
    for index in range(2):
        builder.pod(f"l{index}", of="loud").pod(f"q{index}", of="quiet")

    answer = answer_to(builder.message)

    assert [one.reason for one in answer.refusals] == ["pod-anti-affinity"]
    assert {one.pod_uid for one in answer.plan.placements} == {"q0", "q1"}


def test_a_node_without_the_label_is_no_domain() -> None:
    """As in the scheduler: there the term says nothing."""
    builder = hosts("n").node("bare")
    apart(builder, "web", "web")
    for name in ("a", "b", "c"):
        builder.pod(name, of="web")

    assert len(placed(builder)) == 3


@pytest.mark.parametrize("allowed", [1, 2, 3])
def test_a_budget_counts_over_the_whole_plan(allowed: int) -> None:
    """Three pods would have to move, and the executor could not go on halfway."""
    builder = SnapshotBuilder().node("full", cpu_milli=3).node("free", cpu_milli=3)
    builder.pod_class("web", cpu_milli=1)
    for index in range(3):
        builder.pod(f"w{index}", of="web", node="full")
    builder.pod("wide", cpu_milli=3)
    builder.pod("fixed", node="free", movable=False)
    builder.message.forbidden_pairs.add(class_id="class-wide", node="free")
    builder.message.disruption_budgets.add(
        namespace="default",
        name="budget",
        selector=pb.LabelSelector(),
        disruptions_allowed=allowed,
    )

    answer = answer_to(builder.message)

    assert len(answer.plan.moves) == (3 if allowed == 3 else 0)
    assert bool(answer.refusals) is (allowed < 3)
