"""Decoding is strict, and tells every issue at once with its path."""

from collections.abc import Callable
from typing import Any

import pytest
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.issues import InvalidInputError, Issues
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.selectors import parse_integer
from stowage_optimizer.model.snapshot import Snapshot

Spoil = Callable[[pb.Snapshot], object]


def decoded(message: pb.Snapshot) -> tuple[Snapshot, list[str], list[str]]:
    """Return the snapshot, issues that spoil the whole of it, and those that do not."""
    issues = Issues()
    snapshot = decode_snapshot(message, issues)
    return snapshot, raised(issues), [str(issue) for issue in issues.isolated]


def raised(issues: Issues) -> list[str]:
    try:
        issues.raise_if_any()
    except InvalidInputError as error:
        return [str(issue) for issue in error.issues]
    return []


def one(**fields: Any) -> Spoil:
    """Spoil the first class."""
    return lambda s: s.pod_classes[0].MergeFrom(pb.PodClass(**fields))


def requirement(operator: str, *values: str, field: bool = False) -> Any:
    """Return node affinity that asks for a label, or for a field of the metadata."""
    if field:
        wanted = pb.Requirement(key="metadata.uid", operator=operator, values=values)
        return [pb.NodeSelectorTerm(match_fields=[wanted])]
    wanted = pb.Requirement(key="k", operator=operator, values=values)
    return [pb.NodeSelectorTerm(match_expressions=[wanted])]


def node(**fields: Any) -> Spoil:
    return lambda s: s.nodes.add(**fields)


def pod(**fields: Any) -> Spoil:
    return lambda s: s.pods.add(name="x", **fields)


def ask_for_too_much(snapshot: pb.Snapshot) -> None:
    snapshot.pod_classes[0].requests.memory_bytes = 2**56
    builder = SnapshotBuilder(snapshot)
    for index in range(65):
        builder.pod(f"u{index}", of=snapshot.pod_classes[0].id)


def devices(*spoils: Spoil) -> Spoil:
    """Give the first node a GPU of two halves, then spoil that."""

    def spoil(snapshot: pb.Snapshot) -> None:
        counters, capacity = {"0/gpu/slices": 2}, {"device": 1}
        half = pb.Device(name="half", kind="half", counters={"0/gpu/slices": 1}, capacity=capacity)
        snapshot.device_layouts.add(id="halves", devices=[half, half], counters=counters)
        snapshot.nodes[0].device_layout = "halves"
        take = pb.DeviceTake(device_kind="half", amounts=capacity)
        snapshot.device_requests.add(id="one", first_available=[pb.DeviceChoice(count=1, takes=[take])])
        snapshot.pod_classes[0].device_requests.append("one")
        snapshot.device_holdings.add(node=snapshot.nodes[0].name, device=1, amounts=capacity)
        for one in spoils:
            one(snapshot)

    return spoil


def gangs(spoil: Spoil) -> Spoil:
    """Make the first class a gang, then spoil that."""

    def spoiled(snapshot: pb.Snapshot) -> None:
        SnapshotBuilder(snapshot).gang("g", snapshot.pod_classes[0].id, least=2)
        spoil(snapshot)

    return spoiled


OF_THE_WHOLE: list[tuple[Spoil, str]] = [
    (devices(lambda s: setattr(s.nodes[1], "device_layout", "x")),
     "nodes[1].device_layout: names the unknown device layout 'x'"),
    (devices(lambda s: s.device_layouts.add(id="halves")),
     "device_layouts[1].id: device layout 'halves' appears twice"),
    (devices(lambda s: s.device_layouts[0].counters.clear()),
     "device_layouts[0].devices[0].counters[0/gpu/slices]: is not one of the layout's counters"),
    (devices(lambda s: s.device_layouts[0].devices[1].capacity.update(device=-1)),
     "device_layouts[0].devices[1].capacity[device]: is -1, not in 0..9007199254740992"),
    (devices(lambda s: s.pod_classes[0].device_requests.append("x")),
     "pod_classes[0].device_requests[1]: names the unknown device request 'x'"),
    (devices(lambda s: setattr(s.device_requests[0].first_available[0], "count", 0)),
     "device_requests[0].first_available[0].count: is 0, not in 1..1024"),
    (devices(lambda s: s.device_requests[0].first_available[0].takes.add(device_kind="half")),
     "device_requests[0].first_available[0].takes[1].device_kind: 'half' is there before"),
    (devices(lambda s: setattr(s.device_holdings[0], "device", 2)),
     "device_holdings[0].device: is 2, which the layout of node 'node-1' does not have"),
    (devices(lambda s: setattr(s.device_holdings[0], "node", "x")),
     "device_holdings[0].node: names the unknown node 'x'"),
    (devices(lambda s: setattr(s.device_holdings[0], "pod_uid", "x")),
     "device_holdings[0].pod_uid: names the unknown pod 'x'"),
    (one(gang="x"), "pod_classes[0].gang: names the unknown gang 'x'"),
    (gangs(lambda s: s.gangs.add(id="default/g", min_count=1)),
     "gangs[1].id: gang 'default/g' appears twice"),
    (gangs(lambda s: s.gangs[0].ClearField("min_count")),
     "gangs[0].min_count: is 0, not in 1..2147483647"),
    (lambda s: setattr(s.pods[0], "age_s", -1), "pods[0].age_s: is negative (-1)"),
    (lambda s: s.ClearField("id"), "id: is empty"),
    (node(), "nodes[2].name: is empty"),
    (node(name="node-1"), "nodes[2].name: node 'node-1' appears"),
    (lambda s: s.pod_classes.add(id="class-pod-1", namespace="default"),
     "pod_classes[3].id: class 'class-pod-1' appears twice"),
    (pod(uid="pod-1", namespace="default", class_id="c"),
     "pods[3].uid: pod UID 'pod-1' appears twice"),
    (pod(uid="x", class_id="class-pod-1"),
     "pods[3].namespace: is '', but class 'class-pod-1' is of namespace 'default'"),
    (pod(uid="x", class_id="c"), "pods[3].class_id: names the unknown class 'c'"),
    (pod(uid="x", class_id="class-pod-1", node="n"),
     "pods[3].node: names the unknown node 'n'"),
    (lambda s: s.reservations.add(node="n", held=pb.Resources(cpu_milli=-1)),
     "reservations[0].held.cpu_milli: is negative"),
    (lambda s: s.forbidden_pairs.add(class_id="c", node="node-1"),
     "forbidden_pairs[0].class_id: names the unknown class 'c'"),
]  # fmt: skip
"""Ways to spoil a snapshot, and what is said of each."""

NO_SKEW = pb.TopologySpreadConstraint(max_skew=0, topology_key="zone", when_unsatisfiable="DoNotSchedule")

OF_ONE: list[tuple[Spoil, str]] = [
    (one(preferred_node_affinity=[pb.PreferredNodeTerm(weight=101)]),
     "pod_classes[0].preferred_node_affinity[0].weight: is 101, not in 1..100"),
    (one(preferred_pod_affinity=[pb.PreferredPodTerm(weight=1)]),
     "pod_classes[0].preferred_pod_affinity[0].term.topology_key: is empty"),
    (one(volume_node_affinity=[pb.NodeSelector(terms=requirement("In"))]),
     "pod_classes[0].volume_node_affinity[0].terms[0].match_expressions[0].values: is empty"),
    (node(name="n", allocatable=pb.Resources(memory_bytes=-1)),
     "nodes[2].allocatable.memory_bytes: is negative (-1)"),
    (one(requests=pb.Resources(cpu_milli=2**62)),
     "pod_classes[0].requests.cpu_milli: is 4611686018427387904, above"),
    (lambda s: s.nodes[0].taints.add(key="k", effect="Never"),
     "nodes[0].taints[0].effect: is 'Never', not one of NoSchedule"),
    (node(name="n", hourly_price_micros=-1),
     "nodes[2].hourly_price_micros: is -1, not in 0..8796093022208"),
    (one(tolerations=[pb.Toleration(key="k", operator="Maybe")]),
     "pod_classes[0].tolerations[0].operator: is 'Maybe'"),
    (one(tolerations=[pb.Toleration(value="v")]),
     "pod_classes[0].tolerations[0].key: is empty"),
    (lambda s: s.pod_classes[0].host_ports.add(port=70_000),
     "pod_classes[0].host_ports[0].port: is 70000"),
    (one(topology_spread=[NO_SKEW]), "topology_spread[0].max_skew: is 0"),
    (one(required_node_affinity=requirement("In", "x", field=True)),
     "required_node_affinity[0].match_fields[0]: only metadata.name"),
    (one(required_node_affinity=requirement("Like")),
     "match_expressions[0].operator: is 'Like', not one of In"),
    (one(required_node_affinity=requirement("Gt", "many")),
     "match_expressions[0].values: Gt needs exactly one integer"),
    (ask_for_too_much, "pods: request"),
]  # fmt: skip
"""The same, where a single object cannot be read."""


@pytest.mark.parametrize(("spoil", "expected"), OF_THE_WHOLE)
def test_an_issue_of_the_whole_is_reported_with_its_path(spoil: Spoil, expected: str) -> None:
    """The author of the snapshot must find the place."""
    message = figure_1()

    spoil(message)

    assert any(expected in issue for issue in decoded(message)[1])


@pytest.mark.parametrize(("spoil", "expected"), OF_ONE)
def test_an_object_that_cannot_be_read_is_told_and_spoils_nobody_elses_plan(spoil: Spoil, expected: str) -> None:
    """A user who may create a pod could switch the optimiser off for all others."""
    message = figure_1()

    spoil(message)

    snapshot, broken, aside = decoded(message)
    assert broken == []
    assert any(expected in issue for issue in aside)
    named = [found.detail for found in reduce_snapshot(snapshot).refusals]
    named += [why for found in snapshot.classes.values() for why in found.unsupported]
    assert any(expected in found for found in named)
    assert len(snapshot.pods) == len(message.pods)


def test_devices_are_read_as_they_are_told() -> None:
    """The classes, nodes and pods refer to them."""
    message = figure_1()
    devices()(message)
    snapshot, whole, isolated = decoded(message)
    assert not whole
    assert not isolated
    assert snapshot.nodes[0].device_layout == "halves"
    assert [one.counters for one in snapshot.device_layouts["halves"].devices] == [{"0/gpu/slices": 1}] * 2
    assert snapshot.device_requests["one"].first_available[0].takes[0].amounts == {"device": 1}
    assert snapshot.classes[message.pod_classes[0].id].device_requests == ("one",)
    assert [(one.node, one.device) for one in snapshot.device_holdings] == [("node-1", 1)]


def test_nobody_comes_to_a_node_that_cannot_be_read() -> None:
    """Running pods there still take their room."""
    message = figure_1()
    message.nodes[0].taints.add(key="k", effect="Never")

    items = items_of(reduce_snapshot(decoded(message)[0]))

    waiting = [item for item in items if item.home is None]
    assert waiting
    assert all(0 not in item.eligible for item in waiting)
    assert any(item.home == 0 for item in items)


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
    ask_for_too_much(message)

    classes = decoded(message)[0].classes.values()

    unsupported = {found.id for found in classes if found.unsupported}
    assert unsupported == {message.pod_classes[0].id}


@pytest.mark.parametrize("text", ["9" * 5000, "9223372036854775808", "1_0", "", "x"])
def test_what_go_reads_as_no_number_is_none(text: str) -> None:
    """The longest label decides nothing, and crashes nothing."""
    assert parse_integer(text) is None
    assert parse_integer("-0" + "0" * 30 + "12") == -12


def options_of(message: pb.SolveOptions, default_time_limit_s: float = 7) -> tuple[SolveOptions, list[str]]:
    issues = Issues()
    options = decode_options(message, issues, strategies=["lexicographic"], default_time_limit_s=default_time_limit_s)
    return options, raised(issues)


def test_options_out_of_range_are_told_together() -> None:
    """NaN passes no comparison and must still be caught."""
    numbers = {
        "time_limit_s": float("nan"),
        "alpha": 1.5,
        "workers": -1,
        "max_moves": -1,
        "max_evictions": -1,
        "max_disruptions_per_owner": -1,
        "min_gain_per_move": -0.5,
    }
    message = pb.SolveOptions(strategy="magic", **numbers)  # type: ignore[arg-type]
    # What a newer client may send.
    message.policy = message.objective = 7  # type: ignore[assignment]

    _, issues = options_of(message)

    names = ["strategy", "policy", "objective", *numbers]
    assert len(issues) == len(names)
    for name in names:
        assert any(f"options.{name}" in issue for issue in issues)


def test_zero_means_the_default() -> None:
    """Proto's absent numbers."""
    options, _ = options_of(pb.SolveOptions())

    assert options.strategy == "lexicographic"
    assert (options.time_limit_s, options.alpha) == (7, 0.4)


@pytest.mark.parametrize("default_s", [float("nan"), 0.0, -1.0, 1e6])
def test_a_service_with_a_default_out_of_range_says_so(default_s: float) -> None:
    """No solve would end at NaN."""
    _, issues = options_of(pb.SolveOptions(), default_s)

    assert len(issues) == 1
    assert "options.time_limit_s" in issues[0]
    assert not options_of(pb.SolveOptions(time_limit_s=1), default_s)[1]
