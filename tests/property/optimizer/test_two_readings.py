"""The solver's reading of the contract and the checker's are the same."""

from __future__ import annotations

from brute_force import plan_to
from hypothesis import given, settings
from hypothesis import strategies as st
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder
from solving_in_process import decoded

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.constraints.eligibility import Eligibility
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.anti_affinity import check_anti_affinity
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import Index
from stowage_optimizer.verify.places import check_ports

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
    term = pb.NodeSelectorTerm(
        match_expressions=draw(st.lists(requirements(), max_size=2))
    )
    if draw(st.booleans()):
        operator, name = draw(st.sampled_from(["In", "NotIn"])), draw(NAME)
        term.match_fields.add(key="metadata.name", operator=operator, values=[name])
    return term


@st.composite
def tolerations(draw: st.DrawFn) -> pb.Toleration:
    operator = draw(st.sampled_from(["", "Equal", "Exists", "Lt", "Gt"]))
    keys = st.one_of(KEYS, st.just("")) if operator == "Exists" else KEYS
    return pb.Toleration(
        key=draw(keys),
        operator=operator,
        value=draw(VALUES),
        effect=draw(st.sampled_from(["", *EFFECTS])),
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


APPS = st.sampled_from(["a", "b"])
RELATED_NAMES = ["n0", "n1"]


@st.composite
def related_snapshots(draw: st.DrawFn) -> pb.Snapshot:
    """Roomy nodes, and pods that ports and anti-affinity by host name keep apart."""
    builder = SnapshotBuilder()
    for name in RELATED_NAMES:
        labels = {"host": name} if draw(st.integers(0, 4)) else {}
        builder.node(name, labels=labels)
    for index in range(draw(st.integers(1, 4))):
        pod_class = builder.pod_class(f"c{index}")
        pod_class.labels.update(app=draw(APPS), version=draw(APPS))
        for _ in range(draw(st.integers(0, 2))):
            pod_class.host_ports.add(
                port=draw(st.sampled_from([80, 81])),
                host_ip=draw(st.sampled_from(["", "10.0.0.1", "10.0.0.2"])),
                protocol=draw(st.sampled_from(["", "TCP", "UDP"])),
            )
        if draw(st.integers(0, 2)):
            _give_term(draw, pod_class)
        for pod in range(draw(st.integers(1, 2))):
            node = draw(st.sampled_from(["", "", *RELATED_NAMES]))
            builder.pod(f"p{index}-{pod}", of=f"c{index}", node=node)
    return builder.message


def _give_term(draw: st.DrawFn, pod_class: pb.PodClass) -> None:
    term = pod_class.required_pod_anti_affinity.add(topology_key="host")
    if draw(st.integers(0, 5)):
        term.label_selector.match_labels["app"] = draw(APPS)
    term.match_label_keys.extend(draw(st.sampled_from([[], [], ["version"], ["no"]])))
    term.mismatch_label_keys.extend(draw(st.sampled_from([[], [], ["version"]])))
    term.namespaces.extend(draw(st.sampled_from([[], [], ["default"], ["other"]])))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(snapshot=related_snapshots(), data=st.data())
def test_both_codebases_take_the_same_pods_together(
    snapshot: pb.Snapshot, data: st.DataObject
) -> None:
    """Capacities say exactly what the pairwise rules of the checker say (R12)."""
    packing = reduce_snapshot(decoded(snapshot))
    builder, where = AssignmentBuilder(packing), {}
    fits = True
    for index, item in enumerate(items_of(packing)):
        # Where running pods stay or go is drawn too: both are part of a plan.
        node = data.draw(st.sampled_from([None, *item.eligible]))
        if node is not None:
            fits = fits and builder.fits(index, node)
            builder.put(index, node)
        where[item.pod_uid] = "" if node is None else RELATED_NAMES[node]

    case = Case(snapshot, plan_to(snapshot, where), pb.POLICY_PAPER)
    assert fits == (not [*check_ports(case), *check_anti_affinity(case)])
