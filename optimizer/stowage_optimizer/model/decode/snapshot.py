"""Decoding a whole snapshot."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import compress

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.pod_classes import decode_pod_classes, within_totals
from stowage_optimizer.model.decode.shared import decode_label_selector, decode_resources, within_range
from stowage_optimizer.model.node import Node, Resources, Taint, TaintEffect
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.selectors import LabelSelector
from stowage_optimizer.model.snapshot import DisruptionBudget, Refusal, Reservation, Snapshot

LARGEST_PRICE_MICROS = 2**43
"""Of a node. What 100,000 of them cost still fits into 64 bits."""


def _nodes(messages: Iterable[pb.Node], issues: Issues) -> tuple[tuple[Node, ...], tuple[Refusal, ...]]:
    """Return the nodes in their order, and those that no pod may come to.

    Names must be unique.
    """
    seen: set[str] = set()
    nodes = []
    refusals = []
    for index, message in enumerate(messages):
        where = f"nodes[{index}]"
        issues.require(f"{where}.name", message.name)
        issues.unique(f"{where}.name", "node", seen, message.name)
        own = Issues()
        node = _node(where, message, own)
        if summary := issues.set_aside(own):
            # Pods that run there stay or leave; no other pod may come.
            node = replace(node, allocatable=Resources(), taints=(), unschedulable=True)
            refusals.append(Refusal(f"node {message.name}", "unreadable", summary))
        nodes.append(node)
    return tuple(nodes), tuple(refusals)


def _node(where: str, message: pb.Node, issues: Issues) -> Node:
    return Node(
        name=message.name,
        allocatable=decode_resources(f"{where}.allocatable", message.allocatable, issues),
        labels=dict(message.labels) if len(message.labels) else {},
        taints=tuple(_taint(f"{where}.taints[{index}]", taint, issues) for index, taint in enumerate(message.taints))
        if len(message.taints)
        else (),
        unschedulable=message.unschedulable,
        hourly_price_micros=_price(where, message.hourly_price_micros, issues),
        irremovable_reason=message.irremovable_reason,
    )


def _price(where: str, micros: int, issues: Issues) -> int:
    """Return the price, or none where it is out of range."""
    if 0 <= micros <= LARGEST_PRICE_MICROS:
        return micros
    what = f"is {micros}, not in 0..{LARGEST_PRICE_MICROS}"
    issues.add(f"{where}.hourly_price_micros", what)
    return 0


def _taint(where: str, message: pb.Taint, issues: Issues) -> Taint:
    return Taint(
        key=issues.require(f"{where}.key", message.key),
        value=message.value,
        effect=issues.member(f"{where}.effect", message.effect, TaintEffect, TaintEffect.NO_SCHEDULE),
    )


def _pods(messages: Iterable[pb.Pod], classes: Mapping[str, PodClass], nodes: set[str], issues: Issues) -> Pods:
    """Return the pods in their order; UIDs and names must be unique."""
    # Each look at an element of a repeated field makes a new object.
    rows = list(messages)
    pods = Pods(
        uid=[one.uid for one in rows],
        namespace=[one.namespace for one in rows],
        name=[one.name for one in rows],
        class_id=[one.class_id for one in rows],
        node=[one.node for one in rows],
        movable=[one.movable for one in rows],
        immovable_reason=[one.immovable_reason for one in rows],
        deletion_cost=[one.deletion_cost for one in rows],
        age_s=[one.age_s for one in rows],
        exempt_from_budget=[one.exempt_from_budget for one in rows],
    )
    if not _sound(pods, classes, nodes):
        _check(pods, classes, nodes, issues)
    return pods


def _sound(pods: Pods, classes: Mapping[str, PodClass], nodes: set[str]) -> bool:
    """Return whether nothing is wrong with any pod; nearly always so."""
    number = len(pods)
    namespace_of = {class_id: one.namespace for class_id, one in classes.items()}
    return (
        len({*pods.uid} - {""}) == number
        and "" not in pods.name
        and (len({*pods.name}) == number or len({*zip(pods.namespace, pods.name, strict=True)}) == number)
        and {*pods.node} <= {"", *nodes}
        and min(pods.age_s, default=0) >= 0
        and list(map(namespace_of.get, pods.class_id)) == pods.namespace
    )


def _check(pods: Pods, classes: Mapping[str, PodClass], nodes: set[str], issues: Issues) -> None:
    """Note what is wrong with each pod."""
    uids: set[str] = set()
    names: set[str] = set()
    for index, pod in enumerate(pods):
        where = f"pods[{index}]"
        issues.unique(f"{where}.uid", "pod UID", uids, pod.uid)
        issues.unique(f"{where}.name", "pod", names, f"{pod.namespace}/{pod.name}")
        issues.require(f"{where}.uid", pod.uid)
        issues.require(f"{where}.name", pod.name)
        if pod.age_s < 0:
            issues.add(f"{where}.age_s", f"is negative ({pod.age_s})")
        pod_class = classes.get(pod.class_id)
        if pod_class is None:
            issues.known(f"{where}.class_id", "class", classes, pod.class_id)
        elif pod.namespace != pod_class.namespace:
            issues.add(
                f"{where}.namespace",
                f"is {pod.namespace!r}, but class {pod_class.id!r} is of namespace {pod_class.namespace!r}",
            )
        if pod.node is not None:
            issues.known(f"{where}.node", "node", nodes, pod.node)


def decode_snapshot(message: pb.Snapshot, issues: Issues) -> Snapshot:
    """Return the snapshot of ``message``; what breaks the contract goes to ``issues``.

    The snapshot may be used only if ``issues`` has none but those set aside. A class,
    node, budget or reservation that has one is left alone, and named in a refusal.
    """
    issues.require("id", message.id)
    nodes, closed = _nodes(message.nodes, issues)
    names = {node.name for node in nodes}
    classes = decode_pod_classes(message.pod_classes, issues)
    pods = _pods(message.pods, classes, names, issues)
    classes = within_totals(pods.class_id, classes, nodes, issues)
    pods, classes = _exempt_apart(pods, classes)
    budgets, spent = _budgets(message, issues)
    reservations, clipped = _reservations(message, names, issues)
    return Snapshot(
        id=message.id,
        nodes=nodes,
        classes=classes,
        pods=pods,
        budgets=budgets,
        reservations=reservations,
        forbidden=_forbidden(message, classes, names, issues),
        refusals=(*closed, *spent, *clipped),
    )


def _exempt_apart(pods: Pods, classes: dict[str, PodClass]) -> tuple[Pods, dict[str, PodClass]]:
    """Return both such that no class has pods of which a budget counts only some.

    The pods that go without their budget are of a class of their own: pods of a class
    are equal in all that decides about a plan.
    """
    goes = [
        exempt and movable and node != ""
        for exempt, movable, node in zip(pods.exempt_from_budget, pods.movable, pods.node, strict=True)
    ]
    if not any(goes):
        return pods, classes
    apart, classes = dict[str, str](), dict(classes)
    for class_id in dict.fromkeys(compress(pods.class_id, goes)):
        if class_id in classes:
            apart[class_id] = name = _unused(f"{class_id} (not ready)", classes)
            classes[name] = replace(classes[class_id], id=name, exempt_of=class_id)
    class_ids = [apart.get(one, one) if goes_so else one for one, goes_so in zip(pods.class_id, goes, strict=True)]
    return replace(pods, class_id=class_ids), classes


def _unused(name: str, classes: Mapping[str, PodClass]) -> str:
    while name in classes:
        name += "'"
    return name


def _budgets(message: pb.Snapshot, issues: Issues) -> tuple[tuple[DisruptionBudget, ...], tuple[Refusal, ...]]:
    budgets = []
    refusals = []
    for index, budget in enumerate(message.disruption_budgets):
        where = f"disruption_budgets[{index}]"
        own = Issues()
        selector = None
        if budget.HasField("selector"):
            selector = decode_label_selector(f"{where}.selector", budget.selector, own)
        allowed = budget.disruptions_allowed
        if summary := issues.set_aside(own):
            # Which pods it covers is not known: its whole namespace stays.
            selector, allowed = LabelSelector(), 0
            subject = f"budget {budget.namespace}/{budget.name}"
            refusals.append(Refusal(subject, "unreadable", summary))
        budgets.append(DisruptionBudget(budget.namespace, budget.name, selector, allowed))
    return tuple(budgets), tuple(refusals)


def _reservations(
    message: pb.Snapshot, nodes: set[str], issues: Issues
) -> tuple[tuple[Reservation, ...], tuple[Refusal, ...]]:
    reservations = []
    refusals = []
    for index, reservation in enumerate(message.reservations):
        where = f"reservations[{index}]"
        issues.known(f"{where}.node", "node", nodes, reservation.node)
        own = Issues()
        held = decode_resources(f"{where}.held", reservation.held, own)
        if summary := issues.set_aside(own):
            held = within_range(reservation.held)
            subject = f"reservation {reservation.name}"
            refusals.append(Refusal(subject, "unreadable", summary))
        reservations.append(Reservation(reservation.name, reservation.node, held))
    return tuple(reservations), tuple(refusals)


def _forbidden(
    message: pb.Snapshot, classes: Mapping[str, PodClass], nodes: set[str], issues: Issues
) -> frozenset[tuple[str, str]]:
    for index, pair in enumerate(message.forbidden_pairs):
        where = f"forbidden_pairs[{index}]"
        issues.known(f"{where}.class_id", "class", set(classes), pair.class_id)
        issues.known(f"{where}.node", "node", nodes, pair.node)
    pairs = {(pair.class_id, pair.node) for pair in message.forbidden_pairs}
    apart = {one.exempt_of: one.id for one in classes.values() if one.exempt_of}
    also = {(apart[of], node) for of, node in pairs if of in apart}
    return frozenset(pairs | also)
