"""Decoding is strict, and tells every issue at once with its path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.options import decode_options
from stowage_optimizer.model.decode.snapshot import decode_snapshot
from stowage_optimizer.model.errors import InvalidInputError
from stowage_optimizer.model.selectors import parse_integer
from stowage_optimizer.model.snapshot import Snapshot

Spoil = Callable[[pb.Snapshot], object]


def issues_of(snapshot: pb.Snapshot) -> list[str]:
    return broken(snapshot) or [str(issue) for issue in decoded(snapshot)[1].aside]


def decoded(message: pb.Snapshot) -> tuple[Snapshot, Issues]:
    issues = Issues()
    return decode_snapshot(message, issues), issues


def broken(snapshot: pb.Snapshot) -> list[str]:
    """Return the issues that spoil the whole of ``snapshot``, and the others then."""
    _, issues = decoded(snapshot)
    try:
        issues.raise_if_any()
    except InvalidInputError as error:
        return [str(issue) for issue in error.issues]
    return []


def spoil_spread(snapshot: pb.Snapshot) -> None:
    snapshot.pod_classes[0].topology_spread.add(
        max_skew=0, topology_key="zone", when_unsatisfiable="DoNotSchedule"
    )


def spoil_affinity(snapshot: pb.Snapshot) -> None:
    term = snapshot.pod_classes[0].required_node_affinity.add()
    term.match_fields.add(key="metadata.uid", operator="In", values=["x"])


def spoil_operator(snapshot: pb.Snapshot) -> None:
    term = snapshot.pod_classes[0].required_node_affinity.add()
    term.match_expressions.add(key="k", operator="Like")


def spoil_number(snapshot: pb.Snapshot) -> None:
    term = snapshot.pod_classes[0].required_node_affinity.add()
    term.match_expressions.add(key="k", operator="Gt", values=["many"])


def spoil_total(snapshot: pb.Snapshot) -> None:
    snapshot.pod_classes[0].requests.memory_bytes = 2**56
    for index in range(65):
        snapshot.pods.add(
            uid=f"u{index}",
            namespace="default",
            name=f"u{index}",
            class_id=snapshot.pod_classes[0].id,
        )


def spoil_preference(snapshot: pb.Snapshot) -> None:
    term = snapshot.pod_classes[0].preferred_pod_affinity.add(weight=1)
    term.term.label_selector.match_labels["app"] = "web"


def spoil_volume(snapshot: pb.Snapshot) -> None:
    term = snapshot.pod_classes[0].volume_node_affinity.add().terms.add()
    term.match_expressions.add(key="zone", operator="In")


CASES: list[tuple[Spoil, str]] = [
    (
        lambda s: s.pod_classes[0].preferred_node_affinity.add(weight=101),
        "pod_classes[0].preferred_node_affinity[0].weight: is 101, not in 1..100",
    ),
    (
        spoil_preference,
        "pod_classes[0].preferred_pod_affinity[0].term[0].topology_key: is empty",
    ),
    (
        spoil_volume,
        "pod_classes[0].volume_node_affinity[0][0].match_expressions[0].values: "
        "is empty, but In needs values",
    ),
    (
        lambda s: setattr(s.pods[0], "age_s", -1),
        "pods[0].age_s: is negative (-1)",
    ),
    (lambda s: s.ClearField("id"), "id: is empty"),
    (lambda s: s.nodes.add(), "nodes[2].name: is empty"),
    (lambda s: s.nodes.add(name="node-1"), "nodes[2].name: node 'node-1' appears"),
    (
        lambda s: s.nodes.add(name="n", allocatable=pb.Resources(memory_bytes=-1)),
        "nodes[2].allocatable.memory_bytes: is negative (-1)",
    ),
    (
        lambda s: setattr(s.pod_classes[0].requests, "cpu_milli", 2**62),
        "pod_classes[0].requests.cpu_milli: is 4611686018427387904, above",
    ),
    (
        lambda s: s.nodes[0].taints.add(key="k", effect="Never"),
        "nodes[0].taints[0].effect: is 'Never', not one of NoSchedule",
    ),
    (
        lambda s: s.nodes.add(name="n", hourly_price_micros=-1),
        "nodes[2].hourly_price_micros: is -1, not in 0..8796093022208",
    ),
    (
        lambda s: s.nodes.add(name="n", hourly_price_micros=2**43 + 1),
        "nodes[2].hourly_price_micros: is 8796093022209, not in",
    ),
    (
        lambda s: s.pod_classes.add(id="class-pod-1", namespace="default"),
        "pod_classes[3].id: class 'class-pod-1' appears twice",
    ),
    (
        lambda s: s.pod_classes[0].requests.extended.update({"gpu": -2}),
        "pod_classes[0].requests.extended[gpu]: is negative",
    ),
    (
        lambda s: s.pod_classes[0].tolerations.add(key="k", operator="Maybe"),
        "pod_classes[0].tolerations[0].operator: is 'Maybe'",
    ),
    (
        lambda s: s.pod_classes[0].tolerations.add(value="v"),
        "pod_classes[0].tolerations[0].key: is empty",
    ),
    (
        lambda s: s.pod_classes[0].host_ports.add(port=70_000),
        "pod_classes[0].host_ports[0].port: is 70000",
    ),
    (spoil_spread, "pod_classes[0].topology_spread[0].max_skew: is 0"),
    (spoil_affinity, "required_node_affinity[0].match_fields[0]: only metadata.name"),
    (spoil_operator, "match_expressions[0].operator: is 'Like', not one of In"),
    (spoil_number, "match_expressions[0].values: Gt needs exactly one integer"),
    (
        lambda s: s.pods.add(uid="pod-1", name="x", namespace="default", class_id="c"),
        "pods[3].uid: pod UID 'pod-1' appears twice",
    ),
    (
        lambda s: s.pods.add(uid="x", name="x", class_id="class-pod-1"),
        "pods[3].namespace: is '', but class 'class-pod-1' is of namespace 'default'",
    ),
    (
        lambda s: s.pods.add(uid="x", name="x", class_id="c"),
        "pods[3].class_id: names the unknown class 'c'",
    ),
    (
        lambda s: s.pods.add(uid="x", name="x", class_id="class-pod-1", node="n"),
        "pods[3].node: names the unknown node 'n'",
    ),
    (
        lambda s: s.reservations.add(node="n", held=pb.Resources(cpu_milli=-1)),
        "reservations[0].held.cpu_milli: is negative",
    ),
    (
        lambda s: s.reservations.add(
            name="r", node="node-1", held=pb.Resources(memory_bytes=-1)
        ),
        "reservations[0].held.memory_bytes: is negative",
    ),
    (
        lambda s: s.forbidden_pairs.add(class_id="c", node="node-1"),
        "forbidden_pairs[0].class_id: names the unknown class 'c'",
    ),
    (spoil_total, "pods: request"),
]


@pytest.mark.parametrize(
    ("spoil", "expected"), CASES, ids=[expected for _, expected in CASES]
)
def test_an_issue_is_reported_with_its_path(spoil: Spoil, expected: str) -> None:
    """The author of the snapshot must find the place."""
    snapshot = figure_1()

    spoil(snapshot)

    assert any(expected in issue for issue in issues_of(snapshot))


def test_every_issue_is_reported_at_once() -> None:
    """One round trip, not one for each issue."""
    snapshot = figure_1()
    chosen = [CASES[index] for index in (0, 3, 5, 8, 10, 18, 19)]

    for spoil, _ in chosen:
        spoil(snapshot)

    assert len(issues_of(snapshot)) >= len(chosen)


BREAKING = {
    "age_s",
    "id: is empty",
    "appears",
    "pods[3]",
    "forbidden_pairs",
    "nodes[2].name",
    "reservations[0].held.cpu_milli",  # on an unknown node
}
"""Issues of the message itself; all others are of one object alone."""


@pytest.mark.parametrize(
    ("spoil", "expected"), CASES, ids=[expected for _, expected in CASES]
)
def test_an_object_that_cannot_be_read_spoils_nobody_elses_plan(
    spoil: Spoil, expected: str
) -> None:
    """A user who may create a pod could switch the optimiser off for all others."""
    message = figure_1()

    spoil(message)

    whole = any(part in expected for part in BREAKING)
    assert bool(broken(message)) == whole
    if not whole:
        snapshot, _ = decoded(message)
        named = [one.detail for one in reduce_snapshot(snapshot).refusals]
        named += [why for one in snapshot.classes.values() for why in one.unsupported]
        assert any(expected in one for one in named)
        assert len(snapshot.pods) == len(message.pods)


def test_nobody_comes_to_a_node_that_cannot_be_read() -> None:
    """Running pods there still take their room."""
    message = figure_1()
    message.nodes[0].taints.add(key="k", effect="Never")

    packing = reduce_snapshot(decoded(message)[0])

    waiting = [item for item in items_of(packing) if item.home is None]
    assert waiting
    assert all(0 not in item.eligible for item in waiting)
    assert any(item.home == 0 for item in items_of(packing))


def test_a_budget_that_cannot_be_read_keeps_its_namespace() -> None:
    """Which pods it covers is not known: it may be any pod."""
    message = figure_1()
    budget = message.disruption_budgets.add(namespace="default", disruptions_allowed=9)
    budget.selector.match_expressions.add(key="app", operator="Like")

    packing = reduce_snapshot(decoded(message)[0])

    assert all(item.home is None for item in items_of(packing))


def test_only_those_who_ask_for_most_are_left_out_of_the_sum() -> None:
    """A thousand pods of a pebibyte must not keep small ones from their nodes."""
    message = figure_1()
    spoil_total(message)

    snapshot, _ = decoded(message)

    unsupported = {one.id for one in snapshot.classes.values() if one.unsupported}
    assert unsupported == {message.pod_classes[0].id}


def test_those_who_ask_for_most_of_several_resources_are_left_out_once() -> None:
    """Who is left out for one resource is not missed in the sum of another."""
    builder = SnapshotBuilder().node("n")
    for name in ("a", "b"):
        wanted = builder.pod_class(name).requests
        wanted.cpu_milli = wanted.memory_bytes = 2**59
        for index in range(3):
            builder.pod(f"{name}{index}", of=name)

    snapshot, _ = decoded(builder.message)

    unsupported = [one.id for one in snapshot.classes.values() if one.unsupported]
    assert len(unsupported) == 2


@pytest.mark.parametrize("text", ["9" * 5000, "9223372036854775808", "1_0", "", "x"])
def test_what_go_reads_as_no_number_is_none(text: str) -> None:
    """The longest label decides nothing, and crashes nothing."""
    assert parse_integer(text) is None
    assert parse_integer("-0" + "0" * 30 + "12") == -12


def test_a_class_without_pods_is_fine() -> None:
    """The scheduler need not sort them out."""
    builder = SnapshotBuilder().node("n")
    builder.pod_class("unused")

    assert issues_of(builder.message) == []


def test_options_out_of_range_are_told_together() -> None:
    """NaN passes no comparison and must still be caught."""
    issues = Issues()
    message = pb.SolveOptions(
        strategy="magic", time_limit_s=float("nan"), alpha=1.5, workers=-1
    )
    message.policy = 7  # type: ignore[assignment] # what a newer client may send

    decode_options(message, issues, strategies=["paper"], default_time_limit_s=1)

    with pytest.raises(InvalidInputError) as caught:
        issues.raise_if_any()
    expected = str(caught.value)
    for name in ("strategy", "time_limit_s", "alpha", "workers", "policy"):
        assert f"options.{name}" in expected


def test_zero_means_the_default() -> None:
    """Proto's absent numbers."""
    options = decode_options(
        pb.SolveOptions(),
        Issues(),
        strategies=["lexicographic"],
        default_time_limit_s=7,
    )

    assert options.strategy == "lexicographic"
    assert (options.time_limit_s, options.alpha) == (7, 0.4)
