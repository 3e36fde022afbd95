"""Random terms, and how well a plan meets them, reckoned from the messages alone."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb

APPS = ["a", "b"]


def with_preferences(snapshot: pb.Snapshot, rng: Random) -> pb.Snapshot:
    """Return ``snapshot`` with soft taints, and terms of half of its classes."""
    for node in snapshot.nodes:
        if not rng.randrange(4):
            node.taints.add(key="soft", effect="PreferNoSchedule")
    for one in snapshot.pod_classes:
        if not rng.randrange(2):
            _add_preferences(one, rng)
    return snapshot


def _add_preferences(one: pb.PodClass, rng: Random) -> None:
    for disk in rng.sample(["ssd", "hdd"], rng.randrange(3)):
        term = one.preferred_node_affinity.add(weight=rng.randrange(1, 101))
        term.term.match_expressions.add(key="disk", operator="In", values=[disk])
    for terms in (one.preferred_pod_affinity, one.preferred_pod_anti_affinity):
        if not rng.randrange(2):
            preference = terms.add(weight=rng.randrange(1, 101))
            preference.term.topology_key = rng.choice(["host", "zone"])
            preference.term.label_selector.match_labels["app"] = rng.choice(APPS)
    if not rng.randrange(2):
        spread = one.topology_spread.add(max_skew=1, topology_key="zone")
        spread.when_unsatisfiable = "ScheduleAnyway"
        spread.label_selector.match_labels["app"] = rng.choice(APPS)


def preference_value(snapshot: pb.Snapshot, where: Mapping[str, str]) -> int:
    """Return what all pods that ``where`` brings to a node get of their terms."""
    classes = {one.id: one for one in snapshot.pod_classes}
    total = 0
    for pod in snapshot.pods:
        if not where[pod.uid] or where[pod.uid] == pod.node:
            continue
        one = classes[pod.class_id]
        (node,) = [node for node in snapshot.nodes if node.name == where[pod.uid]]
        total += _of_node(one, node)
        for sign, terms in (
            (1, one.preferred_pod_affinity),
            (-1, one.preferred_pod_anti_affinity),
        ):
            for term in terms:
                met = _met(snapshot, where, pod, node, term.term)
                total += sign * term.weight * met
        for spread in one.topology_spread:
            if spread.when_unsatisfiable == "ScheduleAnyway":
                total -= 10 * _crowd(snapshot, where, pod, node, spread)
    return total


def _of_node(one: pb.PodClass, node: pb.Node) -> int:
    liked = 0
    for term in one.preferred_node_affinity:
        (requirement,) = term.term.match_expressions
        liked += term.weight * (node.labels.get("disk") in requirement.values)
    tolerated = any(not tol.key for tol in one.tolerations)
    soft = sum(taint.effect == "PreferNoSchedule" for taint in node.taints)
    return liked - 100 * soft * (not tolerated)


def _met(
    snapshot: pb.Snapshot,
    where: Mapping[str, str],
    pod: pb.Pod,
    node: pb.Node,
    term: pb.PodAffinityTerm,
) -> int:
    return sum(
        node.labels.get(term.topology_key) == domain is not None
        for domain in _domains(
            snapshot, where, pod, term.topology_key, term.label_selector
        )
    )


def _crowd(
    snapshot: pb.Snapshot,
    where: Mapping[str, str],
    pod: pb.Pod,
    node: pb.Node,
    spread: pb.TopologySpreadConstraint,
) -> int:
    key = spread.topology_key
    if key not in node.labels:
        # As bad as all of them, wherever they are or wait.
        app = spread.label_selector.match_labels["app"]
        classes = {one.id: one for one in snapshot.pod_classes}
        return sum(
            classes[other.class_id].labels["app"] == app
            and other.namespace == pod.namespace
            for other in snapshot.pods
        )
    found = _domains(snapshot, where, pod, key, spread.label_selector)
    return found.count(node.labels[key])


def _domains(
    snapshot: pb.Snapshot,
    where: Mapping[str, str],
    pod: pb.Pod,
    key: str,
    selector: pb.LabelSelector,
) -> list[str | None]:
    """Return the domain of every other pod that ``selector`` picks."""
    classes = {one.id: one for one in snapshot.pod_classes}
    labels = {node.name: node.labels for node in snapshot.nodes}
    return [
        labels[where[other.uid]].get(key)
        for other in snapshot.pods
        if where[other.uid]
        and other.uid != pod.uid
        and other.namespace == pod.namespace
        and classes[other.class_id].labels["app"] == selector.match_labels["app"]
    ]
