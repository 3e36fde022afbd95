"""The checker's tables and its reading of the contract, against others."""

from collections import Counter

from brute_force import plan_to
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder
from solving_in_process import decoded

from stowage_optimizer.constraints.eligibility import Eligibility
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import Index, amounts
from stowage_optimizer.verify.movability import Disruptable
from stowage_optimizer.verify.policy import SpareRoom

NODES = ("a", "b", "c")
HUGE = 2**61
AMOUNTS = st.sampled_from([0, 1, 2, 3, HUGE])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    builder = SnapshotBuilder()
    for name in NODES:
        room = draw(st.sampled_from([2, 4, 6, 3 * HUGE // 2]))
        builder.node(name, cpu_milli=room, memory_bytes=4, pods=draw(st.integers(1, 4)))
    for index in range(draw(st.integers(1, 6))):
        builder.pod(
            f"p{index}",
            cpu_milli=draw(AMOUNTS),
            memory_bytes=draw(st.integers(0, 2)),
            priority=draw(st.integers(0, 2)),
            node=draw(st.sampled_from([*NODES, ""])),
            movable=draw(st.booleans()),
        )
    if draw(st.booleans()):
        held = pb.Resources(cpu_milli=draw(AMOUNTS))
        builder.message.reservations.add(name="r", node="b", held=held)
    where = {
        pod.uid: place
        for pod in builder.message.pods
        if (place := draw(st.sampled_from([*NODES, "", "stay"]))) != "stay"
    }
    return Case(builder.message, plan_to(builder.message, where), pb.POLICY_STRICT)


def counted(case: Case, uid: str, node: str, disruptable: set[str]) -> bool:
    """Tell by counting whether the evicted pod has room on ``node``."""
    priority, load, asked = case.priority(uid), Counter(case.requests(uid)), set()
    for other in case.pods:
        where, runs_at = case.after(other), case.pods[other].node
        stays = (
            case.priority(other) > priority
            or (case.priority(other) == priority and runs_at)
            or (runs_at and other not in disruptable)
        )
        if where == node and stays:
            load.update(case.requests(other))
            if runs_at != node:
                asked |= {n for n, amount in case.requests(other).items() if amount}
    if case.pods[uid].node != node:
        asked |= {n for n, amount in case.requests(uid).items() if amount}
    for reservation in case.snapshot.reservations:
        if reservation.node == node:
            load.update(amounts(reservation.held))
    room = amounts(case.nodes[node].allocatable)
    return all(load[name] <= room[name] for name in asked)


@given(cases())
def test_tables_and_counting_name_the_same_nodes(case: Case) -> None:
    """On every node, at home and elsewhere, for huge amounts too."""
    disruptable = {pod.uid for pod in case.snapshot.pods if pod.node and pod.movable}
    spare = SpareRoom(case, Disruptable(case))

    for eviction in case.plan.evictions:
        uid = eviction.pod_uid
        expected = [name for name in NODES if counted(case, uid, name, disruptable)]
        found = list(spare.nodes_for(uid))
        assert sorted(found) == expected
        if case.pods[uid].node in found:
            assert found[0] == case.pods[uid].node


KEYS = st.sampled_from(["disk", "zone", "node.kubernetes.io/unschedulable"])
VALUES = st.sampled_from(["", "a", "b", "5", "10", "-1", "x1", "1_0", "-+5"])
NUMBER = st.sampled_from([["-2"], ["5"], ["7"]])
NAMES = ["n0", "n1", "n2"]
NAME = st.sampled_from(NAMES)
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
TAINTS = st.builds(pb.Taint, key=KEYS, value=VALUES, effect=st.sampled_from(EFFECTS))


@st.composite
def requirements(draw: st.DrawFn) -> pb.Requirement:
    some = st.lists(VALUES, min_size=1, max_size=3)
    operator, values = draw(
        st.tuples(st.sampled_from(["In", "NotIn"]), some)
        | st.tuples(st.sampled_from(["Exists", "DoesNotExist"]), st.just([]))
        | st.tuples(st.sampled_from(["Gt", "Lt"]), NUMBER)
    )
    return pb.Requirement(key=draw(KEYS), operator=operator, values=values)


@st.composite
def terms(draw: st.DrawFn) -> pb.NodeSelectorTerm:
    term = pb.NodeSelectorTerm(match_expressions=draw(st.lists(requirements(), max_size=2)))
    if draw(st.booleans()):
        operator, name = draw(st.sampled_from(["In", "NotIn"])), draw(NAME)
        term.match_fields.add(key="metadata.name", operator=operator, values=[name])
    return term


@st.composite
def tolerations(draw: st.DrawFn) -> pb.Toleration:
    operator = draw(st.sampled_from(["", "Equal", "Exists", "Lt", "Gt"]))
    keys = st.one_of(KEYS, st.just("")) if operator == "Exists" else KEYS
    return pb.Toleration(
        key=draw(keys), operator=operator, value=draw(VALUES), effect=draw(st.sampled_from(["", *EFFECTS]))
    )


@st.composite
def snapshots(draw: st.DrawFn) -> pb.Snapshot:
    builder = SnapshotBuilder()
    for name in NAMES:
        builder.node(
            name,
            labels=draw(st.dictionaries(KEYS, VALUES, max_size=2)),
            taints=draw(st.lists(TAINTS, max_size=2)),
            unschedulable=draw(st.booleans()),
        )
    pod_class = builder.pod_class("wants")
    pod_class.node_selector.update(draw(st.dictionaries(KEYS, VALUES, max_size=1)))
    pod_class.required_node_affinity.extend(draw(st.lists(terms(), max_size=2)))
    for volume in draw(st.lists(st.lists(terms(), max_size=2), max_size=1)):
        pod_class.volume_node_affinity.add(terms=volume)
    pod_class.tolerations.extend(draw(st.lists(tolerations(), max_size=3)))
    for name in draw(st.lists(NAME, max_size=1)):
        builder.message.forbidden_pairs.add(class_id="wants", node=name)
    return builder.pod("pod", of="wants").message


@settings(max_examples=300, deadline=None, derandomize=True)
@given(snapshot=snapshots())
def test_both_codebases_name_the_same_nodes(snapshot: pb.Snapshot) -> None:
    """A mistake in one of them shows as a difference (R12)."""
    model = decoded(snapshot)
    checked = Index(snapshot).eligibility

    eligible = Eligibility(model).nodes(model.classes["wants"]).indices

    welcome = checked.welcoming("wants", NAMES)
    assert [NAMES[node] for node in eligible] == welcome
    assert [one for one in NAMES if not checked.problems("wants", one)] == welcome
