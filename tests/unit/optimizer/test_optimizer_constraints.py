"""What the scheduler's filters demand holds for every plan."""

from __future__ import annotations

import pytest
from packing_oracle import items_of
from snapshot_builder import GB, SnapshotBuilder
from solving_in_process import answer_to, decoded, empty, finished_answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.verify import verify_plan


def packing_of(snapshot: pb.Snapshot) -> Packing:
    return reduce_snapshot(decoded(snapshot))


def eligible(snapshot: pb.Snapshot) -> list[str]:
    packing = packing_of(snapshot)
    return [packing.node_names[node] for node in items_of(packing)[0].eligible]


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


@pytest.mark.parametrize(
    ("wanted", "nodes"), [({"disk": "ssd"}, ["ssd"]), ({"disk": ""}, [])]
)
def test_a_node_selector_needs_label_and_value(
    wanted: dict[str, str], nodes: list[str]
) -> None:
    """A missing label is no empty one."""
    builder, _ = wanting(node_selector=wanted)

    assert eligible(builder.message) == nodes


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
    assert [item.demand[memory] for item in items_of(packing)] == [2, 3]
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


Port = tuple[str, str, int]
HOST = "kubernetes.io/hostname"


def placed(builder: SnapshotBuilder) -> dict[str, str]:
    plan = answer_to(builder.message).plan
    return {one.pod_uid: one.node for one in plan.placements}


def dimensions(builder: SnapshotBuilder) -> int:
    """Return how many dimensions there are besides the four of every node."""
    return len(packing_of(builder.message).room[0]) - 4


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


@pytest.mark.parametrize(("one", "many"), [("loud", "quiet"), ("quiet", "loud")])
def test_one_pod_keeps_off_many_whichever_of_them_has_the_term(
    one: str, many: str
) -> None:
    """Symmetric, as in the scheduler; the many select no pod of their own."""
    builder = hosts("n", "m")
    apart(builder, "loud", "quiet")
    builder.pod_class("quiet").labels["app"] = "quiet"
    builder.pod("runs", of=one, node="n", movable=False)
    builder.pod("a", of=many).pod("b", of=many)

    assert placed(builder) == {"a": "m", "b": "m"}


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

    answer = finished_answer_to(builder.message, pb.SolveOptions())

    assert len(answer.plan.moves) == (3 if allowed == 3 else 0)
    assert answer.plan.optimal
    assert not answer.refusals


@pytest.mark.parametrize(
    ("exempt", "allowed", "moves"),
    [
        ("", 0, 0),
        ("w0", 0, 0),
        ("w0 w1 w2", 0, 3),
        ("w1 w2", 0, 0),
        ("w1 w2", 1, 3),
        ("w2", 1, 0),
    ],
)
def test_pods_that_are_exempt_use_up_nothing_of_a_budget(
    exempt: str, allowed: int, moves: int
) -> None:
    """They are not ready: the others' share is not theirs, nor theirs the others'."""
    builder = SnapshotBuilder().node("full", cpu_milli=3).node("free", cpu_milli=3)
    builder.pod_class("web", cpu_milli=1)
    for index in range(3):
        builder.pod(f"w{index}", of="web", node="full")
        builder.message.pods[-1].exempt_from_budget = f"w{index}" in exempt.split()
    builder.pod("wide", cpu_milli=3)
    builder.pod("fixed", node="free", movable=False)
    builder.message.forbidden_pairs.add(class_id="class-wide", node="free")
    for name, both in (("budget", False), ("second", True)):
        builder.message.disruption_budgets.add(
            namespace="default",
            name=name,
            selector=pb.LabelSelector(),
            disruptions_allowed=allowed,
        )
        asked = pb.SolveOptions()

        answer = finished_answer_to(builder.message, asked)

        # Two budgets keep every pod, and the Eviction API says so.
        assert len(answer.plan.moves) == (0 if both else moves)
        assert answer.plan.optimal
        assert verify_plan(builder.message, answer.plan, asked.policy, asked) == []


def test_of_equal_pods_those_go_that_are_exempt() -> None:
    """Which replica leaves is no matter of taste then: the other is refused."""
    builder = SnapshotBuilder().node("full", cpu_milli=3).node("free", cpu_milli=1)
    builder.pod_class("web", cpu_milli=1)
    for index in range(3):
        builder.pod(f"w{index}", of="web", node="full")
        builder.message.pods[-1].exempt_from_budget = index == 1
        builder.message.pods[-1].age_s = index
    builder.pod("new", cpu_milli=1)
    builder.message.forbidden_pairs.add(class_id="class-new", node="free")
    builder.message.disruption_budgets.add(
        namespace="default", name="budget", selector=pb.LabelSelector()
    )

    answer = finished_answer_to(builder.message, pb.SolveOptions())

    assert [one.pod_uid for one in answer.plan.moves] == ["w1"]
    assert answer.plan.optimal
