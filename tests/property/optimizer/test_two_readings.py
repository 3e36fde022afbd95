"""The solver's reading of the contract and the checker's are the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder
from solving_in_process import decoded

from stowage_optimizer.constraints.eligibility import Eligibility
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index

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
