"""Decoding a whole snapshot."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.nodes import decode_nodes
from stowage_optimizer.model.decode.pod_classes import decode_pod_classes
from stowage_optimizer.model.decode.pods import decode_pods
from stowage_optimizer.model.decode.resources import decode_resources, within_range
from stowage_optimizer.model.decode.selectors import decode_label_selector
from stowage_optimizer.model.decode.totals import within_totals
from stowage_optimizer.model.refusal import Refusal
from stowage_optimizer.model.selectors import LabelSelector
from stowage_optimizer.model.snapshot import DisruptionBudget, Reservation, Snapshot


def decode_snapshot(message: pb.Snapshot, issues: Issues) -> Snapshot:
    """Return the snapshot of ``message``; what breaks the contract goes to ``issues``.

    The snapshot may be used only if ``issues`` has none but those set aside. A class,
    node, budget or reservation that has one is left alone, and named in a refusal.
    """
    issues.require("id", message.id)
    nodes, closed = decode_nodes(message.nodes, issues)
    names = {node.name for node in nodes}
    classes = decode_pod_classes(message.pod_classes, issues)
    pods = decode_pods(message.pods, classes, names, issues)
    classes = within_totals(pods, classes, issues)
    budgets, spent = _budgets(message, issues)
    reservations, clipped = _reservations(message, names, issues)
    return Snapshot(
        id=message.id,
        nodes=nodes,
        classes=classes,
        pods=pods,
        budgets=budgets,
        reservations=reservations,
        forbidden=_forbidden(message, set(classes), names, issues),
        namespaces=_namespaces(message, issues),
        refusals=(*closed, *spent, *clipped),
    )


def _namespaces(message: pb.Snapshot, issues: Issues) -> dict[str, dict[str, str]]:
    seen: set[str] = set()
    for index, namespace in enumerate(message.namespaces):
        where = f"namespaces[{index}].name"
        issues.require(where, namespace.name)
        issues.unique(where, "namespace", seen, namespace.name)
    return {one.name: dict(one.labels) for one in message.namespaces}


def _budgets(
    message: pb.Snapshot, issues: Issues
) -> tuple[tuple[DisruptionBudget, ...], tuple[Refusal, ...]]:
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
        budgets.append(
            DisruptionBudget(budget.namespace, budget.name, selector, allowed)
        )
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
    message: pb.Snapshot, classes: set[str], nodes: set[str], issues: Issues
) -> frozenset[tuple[str, str]]:
    for index, pair in enumerate(message.forbidden_pairs):
        where = f"forbidden_pairs[{index}]"
        issues.known(f"{where}.class_id", "class", classes, pair.class_id)
        issues.known(f"{where}.node", "node", nodes, pair.node)
    return frozenset((pair.class_id, pair.node) for pair in message.forbidden_pairs)
