"""Decoding a whole snapshot."""

from __future__ import annotations

from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.decode.faults import Faults
from optimizer.model.decode.nodes import decode_nodes
from optimizer.model.decode.pod_classes import decode_pod_classes
from optimizer.model.decode.pods import decode_pods
from optimizer.model.decode.resources import decode_resources
from optimizer.model.decode.selectors import decode_label_selector
from optimizer.model.decode.totals import check_totals
from optimizer.model.snapshot import DisruptionBudget, Reservation, Snapshot


def decode_snapshot(message: pb.Snapshot, faults: Faults) -> Snapshot:
    """Return the snapshot of ``message``; what breaks the contract goes to ``faults``.

    The snapshot may be used only if ``faults`` stays empty.
    """
    faults.require("id", message.id)
    nodes = decode_nodes(message.nodes, faults)
    names = {node.name for node in nodes}
    classes = decode_pod_classes(message.pod_classes, faults)
    pods = decode_pods(message.pods, classes, names, faults)
    check_totals(pods, classes, faults)
    return Snapshot(
        id=message.id,
        nodes=nodes,
        classes=classes,
        pods=pods,
        budgets=_budgets(message, faults),
        reservations=_reservations(message, names, faults),
        forbidden=_forbidden(message, set(classes), names, faults),
        namespaces=_namespaces(message, faults),
    )


def _namespaces(message: pb.Snapshot, faults: Faults) -> dict[str, dict[str, str]]:
    seen: set[str] = set()
    for index, namespace in enumerate(message.namespaces):
        where = f"namespaces[{index}].name"
        faults.require(where, namespace.name)
        faults.unique(where, "namespace", seen, namespace.name)
    return {one.name: dict(one.labels) for one in message.namespaces}


def _budgets(message: pb.Snapshot, faults: Faults) -> tuple[DisruptionBudget, ...]:
    budgets = []
    for index, budget in enumerate(message.disruption_budgets):
        where = f"disruption_budgets[{index}]"
        selector = None
        if budget.HasField("selector"):
            selector = decode_label_selector(
                f"{where}.selector", budget.selector, faults
            )
        budgets.append(
            DisruptionBudget(
                budget.namespace, budget.name, selector, budget.disruptions_allowed
            )
        )
    return tuple(budgets)


def _reservations(
    message: pb.Snapshot, nodes: set[str], faults: Faults
) -> tuple[Reservation, ...]:
    reservations = []
    for index, reservation in enumerate(message.reservations):
        where = f"reservations[{index}]"
        faults.known(f"{where}.node", "node", nodes, reservation.node)
        held = decode_resources(f"{where}.held", reservation.held, faults)
        reservations.append(Reservation(reservation.name, reservation.node, held))
    return tuple(reservations)


def _forbidden(
    message: pb.Snapshot, classes: set[str], nodes: set[str], faults: Faults
) -> frozenset[tuple[str, str]]:
    for index, pair in enumerate(message.forbidden_pairs):
        where = f"forbidden_pairs[{index}]"
        faults.known(f"{where}.class_id", "class", classes, pair.class_id)
        faults.known(f"{where}.node", "node", nodes, pair.node)
    return frozenset((pair.class_id, pair.node) for pair in message.forbidden_pairs)
