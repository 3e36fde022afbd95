"""What the scheduler's filters demand holds for every plan, or is refused by name."""

from collections.abc import Callable

import pytest
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import answer_to, decoded

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import LONGEST_DETAIL, encode_refusals
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Refusal

EVERY_POD = pb.LabelSelector()
OF_EVERY_NODE = 4
"""Dimensions of every packing: CPU, memory, storage and pods."""
GPU = {"example.com/gpu": 1}


def packing_of(snapshot: pb.Snapshot) -> Packing:
    return reduce_snapshot(decoded(snapshot))


def placed(builder: SnapshotBuilder) -> dict[str, str]:
    plan = answer_to(builder.message).plan
    return {one.pod_uid: one.node for one in plan.placements}


def term(key: str, operator: str, *values: str) -> pb.NodeSelectorTerm:
    wanted = pb.Requirement(key=key, operator=operator, values=values)
    if key == "metadata.name":
        return pb.NodeSelectorTerm(match_fields=[wanted])
    return pb.NodeSelectorTerm(match_expressions=[wanted])


SSD, HDD = (term("metadata.name", "In", name) for name in ("ssd", "hdd"))


def volumes(*terms: list[pb.NodeSelectorTerm]) -> list[pb.NodeSelector]:
    return [pb.NodeSelector(terms=one) for one in terms]


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        (pb.PodClass(required_node_affinity=[term("gen", "Gt", "6")]), ["ssd"]),
        (pb.PodClass(required_node_affinity=[pb.NodeSelectorTerm(), HDD]), ["hdd"]),
        (pb.PodClass(node_selector={"disk": ""}), []),
        (pb.PodClass(requests=pb.Resources(extended=GPU)), ["ssd"]),
        (pb.PodClass(requests=pb.Resources(ephemeral_storage_bytes=5)), ["ssd"]),
        (pb.PodClass(volume_node_affinity=volumes([SSD, HDD])), ["ssd", "hdd"]),
        (pb.PodClass(volume_node_affinity=volumes([SSD, HDD], [HDD])), ["hdd"]),
        (pb.PodClass(volume_node_affinity=volumes([SSD, HDD], [])), []),
    ],
)
def test_a_pod_may_go_where_all_that_it_asks_for_is(wanted: pb.PodClass, nodes: list[str]) -> None:
    """Terms are alternatives, volumes are not; a missing label is no empty one.

    What else filters look at is compared with the checker's reading for many drawn snapshots.
    """
    builder = SnapshotBuilder()
    labels = {"disk": "ssd", "gen": "7"}
    builder.node("ssd", labels=labels, extended=GPU, ephemeral_storage_bytes=5)
    builder.node("hdd").pod_class("wants").MergeFrom(wanted)

    packing = packing_of(builder.pod("pod", of="wants").message)

    eligible = items_of(packing)[0].eligible
    assert [packing.node_names[node] for node in eligible] == nodes


def test_reservations_take_room() -> None:
    """They are held for other pods."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    held = pb.Resources(cpu_milli=3)
    builder.message.reservations.add(name="held", node="n", held=held)
    builder.pod("small", cpu_milli=1).pod("large", cpu_milli=2)

    assert placed(builder) == {"small": "n"}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (pb.HostPort(port=80), pb.HostPort(port=80, protocol="TCP"), False),
        (pb.HostPort(port=80), pb.HostPort(port=80, host_ip="10.0.0.1"), False),
        (pb.HostPort(port=80), pb.HostPort(port=81), True),
        (pb.HostPort(port=80), pb.HostPort(port=80, protocol="UDP"), True),
        (pb.HostPort(port=80, host_ip="10.0.0.2"), pb.HostPort(port=80, host_ip="10.0.0.1"), True),
    ],
)
def test_ports_clash_by_number_protocol_and_address(one: pb.HostPort, other: pb.HostPort, together: bool) -> None:
    """TCP and every address, where nothing else is said."""
    builder = SnapshotBuilder().node("n")
    for name, port in (("a", one), ("b", other)):
        builder.pod_class(name).host_ports.append(port)
        builder.pod(name, of=name)

    assert len(placed(builder)) == 1 + together


def test_two_pods_that_have_the_same_port_already_may_stay() -> None:
    """Bound by hand, past the filters: no reason to give up the whole snapshot."""
    builder = SnapshotBuilder().node("n")
    builder.pod_class("web").host_ports.add(port=80)
    builder.pod("a", of="web", node="n").pod("b", of="web", node="n")
    builder.pod("c", of="web").pod("free")

    assert placed(builder) == {"free": "n"}


def hosts(*carriers: tuple[str, str]) -> SnapshotBuilder:
    """Return nodes n and m, and classes that keep away from pods of an app each."""
    builder = SnapshotBuilder().node("n", labels={"host": "n"})
    builder.node("m", labels={"host": "m"})
    for carrier, app in carriers:
        pod_class = builder.pod_class(carrier)
        pod_class.labels["app"] = carrier
        selector = pb.LabelSelector(match_labels={"app": app})
        pod_class.required_pod_anti_affinity.add(topology_key="host", label_selector=selector)
    return builder


def test_two_revisions_that_keep_apart_are_one_dimension() -> None:
    """The template hash makes two classes of one Deployment that is rolled out.

    Every dimension costs every strategy time.
    """
    builder = hosts(("old", "web"), ("new", "web"))
    for one in builder.message.pod_classes:
        one.labels["app"] = "web"
        builder.pod(f"{one.id}-1", of=one.id).pod(f"{one.id}-2", of=one.id)

    assert len(packing_of(builder.message).room[0]) == OF_EVERY_NODE + 1
    assert len(placed(builder)) == 2


def test_many_of_both_are_no_capacity_and_refused_by_name() -> None:
    """Any number of these or any number of those: no sum of amounts says that."""
    builder = hosts(("loud", "quiet"))
    builder.pod_class("quiet").labels["app"] = "quiet"
    for index in range(2):
        builder.pod(f"l{index}", of="loud").pod(f"q{index}", of="quiet")

    answer = answer_to(builder.message)

    assert [one.reason for one in answer.refusals] == ["pod-anti-affinity"]
    assert {one.pod_uid for one in answer.plan.placements} == {"q0", "q1"}


ZONE = {"zone": "z"}


@pytest.mark.parametrize(
    ("reason", "give"),
    [
        ("pod-affinity", lambda one: one.required_pod_affinity.add(topology_key="zone")),
        (
            "pod-anti-affinity",
            lambda one: one.required_pod_anti_affinity.add(topology_key="zone", label_selector=EVERY_POD),
        ),
        (
            "topology-spread",
            lambda one: one.topology_spread.add(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"),
        ),
        ("unsupported", lambda one: one.unsupported.append("volumes")),
    ],
)
def test_who_cannot_be_expressed_is_left_alone_by_name_and_their_room_counts(
    reason: str, give: Callable[[pb.PodClass], object]
) -> None:
    """Placed blindly they would go to nodes that refuse them, or others to theirs."""
    for spoilt in (slice(2, 3), slice(2)):
        snapshot = figure_1()
        for node in snapshot.nodes:
            node.labels.update(ZONE)
        named = snapshot.pod_classes[spoilt]
        for one in named:
            give(one)

        answer = answer_to(snapshot)

        assert answer.solution.empty
        found = {(one.subject, one.reason) for one in answer.refusals}
        told = {(f"class {one.id}", reason) for one in named}
        assert {one for one in found if one[1] != "existing-pods-anti-affinity"} == told


@pytest.mark.parametrize(
    ("node", "namespaces", "refused"),
    [("n", [], True), ("n", ["default"], True), ("n", ["elsewhere"], False), ("", [], False)],
    ids=["own", "named", "other", "by one that waits"],
)
def test_who_a_running_pod_keeps_away_is_refused_too(node: str, namespaces: list[str], refused: bool) -> None:
    """Anti-affinity works both ways, of pods that run."""
    builder = SnapshotBuilder().node("n", labels=ZONE).node("m", labels=ZONE)
    builder.pod_class("carrier").required_pod_anti_affinity.add(
        topology_key="zone", namespaces=namespaces, label_selector=pb.LabelSelector(match_labels={"app": "web"})
    )
    builder.pod_class("web").labels["app"] = "web"
    builder.pod("c", of="carrier", node=node).pod("w", of="web").pod("other")

    answer = answer_to(builder.message)

    found = {one.pod_uid for one in answer.plan.placements}
    assert found == ({"other"} if refused else {"other", "w"})
    reasons = {(one.subject, one.reason) for one in answer.refusals}
    assert (("class web", "existing-pods-anti-affinity") in reasons) is refused


def test_a_refusal_fits_into_an_answer_whatever_it_names() -> None:
    """A namespace may have a thousand budgets, and each of its classes names them."""
    names = ", ".join("budget-" + "b" * 240 for _ in range(1000))

    (found,) = encode_refusals([Refusal("class c", "disruption-budget", names)])

    assert found.subject == "class c"
    assert found.detail.startswith("budget-b")
    assert len(found.detail) <= LONGEST_DETAIL
