"""The checker's conflict amounts say what its rules say of one node."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.anti_affinity import check_anti_affinity
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.certificate.conflict_amounts import Amounts
from stowage_optimizer.verify.places import check_ports

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the API's word for every address


@st.composite
def classes(draw: st.DrawFn, *, apart: bool) -> SnapshotBuilder:
    """Up to 3 classes of up to 2 waiting pods, on a node with or without its name."""
    builder = SnapshotBuilder()
    builder.node("n", labels=draw(st.sampled_from([{}, {"host": "n"}])))
    names = [f"c{index}" for index in range(draw(st.integers(1, 3)))]
    for name in names:
        one = builder.pod_class(name)
        one.labels["class"] = name
        for _ in range(draw(st.integers(0, 2))):
            if apart:
                _keep_apart(one, draw(st.sampled_from(["", *names])))
            else:
                one.host_ports.add(
                    port=draw(st.sampled_from([80, 80, 81])),
                    protocol=draw(st.sampled_from(["", "TCP", "UDP"])),
                    host_ip=draw(st.sampled_from(["", EVERYWHERE, "10.1", "10.2"])),
                )
        for index in range(draw(st.integers(1, 2))):
            builder.pod(f"{name}-{index}", of=name)
    return builder


@settings(max_examples=300, deadline=None, derandomize=True)
@given(builder=classes(apart=False), data=st.data())
def test_ports_overflow_exactly_where_they_clash(
    builder: SnapshotBuilder, data: st.DataObject
) -> None:
    """Too strict an amount certifies what is false, too lax a one refuses truth."""
    case = _case(builder, data)

    assert _overflows(case) == any(check_ports(case))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(builder=classes(apart=True), data=st.data())
def test_who_keeps_apart_overflows_a_node_together(
    builder: SnapshotBuilder, data: st.DataObject
) -> None:
    """Only of two groups that may each be large, but never meet, is nothing said."""
    case = _case(builder, data)

    met = any(check_anti_affinity(case))

    assert met or not _overflows(case)
    if not _one_sided(builder.message):
        assert _overflows(case) == met


def _keep_apart(one: pb.PodClass, other: str) -> None:
    labels = {"class": other} if other else {}
    one.required_pod_anti_affinity.add(
        topology_key="host", label_selector=pb.LabelSelector(match_labels=labels)
    )


def _case(builder: SnapshotBuilder, data: st.DataObject) -> Case:
    plan = pb.Plan(snapshot_id="snapshot-1")
    for pod in builder.message.pods:
        if data.draw(st.booleans()):
            plan.placements.add(pod_uid=pod.uid, node="n")
    return Case(builder.message, plan, pb.POLICY_STRICT)


def _overflows(case: Case) -> bool:
    amounts = Amounts(case)
    left = amounts.offered("n")
    for one in case.plan.placements:
        left.subtract(amounts.taken(one.pod_uid))
    return any(amount < 0 for amount in left.values())


def _one_sided(snapshot: pb.Snapshot) -> bool:
    """Tell whether a class of two keeps away from another one only."""
    number = [pod.class_id for pod in snapshot.pods].count
    return any(
        number(one.id) > 1 and "" != other != one.id and number(other) > 1
        for one in snapshot.pod_classes
        for term in one.required_pod_anti_affinity
        for other in [term.label_selector.match_labels.get("class", "")]
    )
