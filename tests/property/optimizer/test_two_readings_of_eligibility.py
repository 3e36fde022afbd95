"""Strategy and checker read taints, selectors and affinity in the same way."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.constraints.eligibility import Eligibility
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_snapshot
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.places import turned_away

KEYS = st.sampled_from(["disk", "zone", "node.kubernetes.io/unschedulable"])
VALUES = st.sampled_from(["", "a", "b", "5", "10", "-1", "x1", "1_0", "-+5"])
NAMES = ["n0", "n1", "n2"]
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]


@st.composite
def requirements(draw: st.DrawFn) -> pb.Requirement:
    operator = draw(
        st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    )
    values: list[str] = []
    if operator in ("In", "NotIn"):
        values = draw(st.lists(VALUES, min_size=1, max_size=3))
    if operator in ("Gt", "Lt"):
        values = [draw(st.sampled_from(["-2", "5", "7"]))]
    return pb.Requirement(key=draw(KEYS), operator=operator, values=values)


@st.composite
def terms(draw: st.DrawFn) -> pb.NodeSelectorTerm:
    fields = [
        pb.Requirement(
            key="metadata.name",
            operator=draw(st.sampled_from(["In", "NotIn"])),
            values=[draw(st.sampled_from(NAMES))],
        )
        for _ in range(draw(st.integers(0, 1)))
    ]
    return pb.NodeSelectorTerm(
        match_expressions=draw(st.lists(requirements(), max_size=2)),
        match_fields=fields,
    )


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
            taints=[
                pb.Taint(
                    key=draw(KEYS),
                    value=draw(VALUES),
                    effect=draw(st.sampled_from(EFFECTS)),
                )
                for _ in range(draw(st.integers(0, 2)))
            ],
            unschedulable=draw(st.booleans()),
        )
    pod_class = builder.pod_class("wants")
    pod_class.node_name = draw(st.sampled_from(["", "", "", "n1"]))
    pod_class.node_selector.update(draw(st.dictionaries(KEYS, VALUES, max_size=1)))
    pod_class.required_node_affinity.extend(draw(st.lists(terms(), max_size=2)))
    for volume in draw(st.lists(st.lists(terms(), max_size=2), max_size=1)):
        pod_class.volume_node_affinity.add(terms=volume)
    pod_class.tolerations.extend(draw(st.lists(tolerations(), max_size=3)))
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=1)):
        builder.message.forbidden_pairs.add(class_id="wants", node=name)
    return builder.pod("pod", of="wants").message


@settings(max_examples=300, deadline=None, derandomize=True)
@given(snapshot=snapshots())
def test_both_codebases_name_the_same_nodes(snapshot: pb.Snapshot) -> None:
    """A mistake in one of them shows as a difference (R12)."""
    issues = Issues()
    model = decode_snapshot(snapshot, issues)
    issues.raise_if_any()
    case = Case(snapshot, pb.Plan(), pb.POLICY_STRICT)

    eligible = Eligibility(model).nodes(model.classes["wants"])

    welcome = [
        index for index, name in enumerate(NAMES) if not turned_away(case, "pod", name)
    ]
    assert list(eligible) == welcome
