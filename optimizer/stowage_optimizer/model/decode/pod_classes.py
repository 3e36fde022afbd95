"""Decoding pod classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.preferences import (
    decode_preferred_nodes,
    decode_preferred_pods,
)
from stowage_optimizer.model.decode.relations import (
    decode_affinity_terms,
    decode_host_ports,
    decode_spread,
)
from stowage_optimizer.model.decode.resources import decode_resources, within_range
from stowage_optimizer.model.decode.selectors import decode_terms
from stowage_optimizer.model.node import TaintEffect
from stowage_optimizer.model.pod_class import (
    Owner,
    PodClass,
    Toleration,
    TolerationOperator,
)

PLAIN = frozenset({"id", "namespace", "priority", "requests", "labels", "owner"})
"""What every class may have; the rest takes long to read, and few have it."""


def decode_pod_classes(
    messages: Iterable[pb.PodClass], issues: Issues
) -> dict[str, PodClass]:
    """Return the classes by id, in their order; ids must be unique.

    What cannot be read of a class makes that class unsupported.
    """
    seen: set[str] = set()
    classes = {}
    for index, message in enumerate(messages):
        where = f"pod_classes[{index}]"
        issues.require(f"{where}.id", message.id)
        issues.require(f"{where}.namespace", message.namespace)
        issues.unique(f"{where}.id", "class", seen, message.id)
        own = Issues()
        pod_class = _pod_class(where, message, own)
        summary = issues.set_aside(own)
        classes[message.id] = _left_alone(message, summary) if summary else pod_class
    return classes


def _left_alone(message: pb.PodClass, why: str) -> PodClass:
    """Return a class whose pods keep their room, and are moved by no plan."""
    owner = message.owner if message.HasField("owner") else None
    return PodClass(
        id=message.id,
        namespace=message.namespace,
        priority=message.priority,
        requests=within_range(message.requests),
        labels=dict(message.labels),
        owner=Owner(owner.kind, owner.name, owner.uid) if owner else None,
        unsupported=(*message.unsupported, why),
    )


def _pod_class(where: str, message: pb.PodClass, issues: Issues) -> PodClass:
    owner = message.owner if message.HasField("owner") else None
    plain = PodClass(
        id=message.id,
        namespace=message.namespace,
        priority=message.priority,
        requests=decode_resources(f"{where}.requests", message.requests, issues),
        labels=dict(message.labels),
        owner=Owner(owner.kind, owner.name, owner.uid) if owner else None,
    )
    if all(field.name in PLAIN for field, _ in message.ListFields()):
        return plain
    return _demanding(plain, where, message, issues)


def _demanding(
    plain: PodClass, where: str, message: pb.PodClass, issues: Issues
) -> PodClass:
    """Return ``plain`` with what most classes do without."""
    return replace(
        plain,
        node_name=message.node_name,
        node_selector=dict(message.node_selector),
        required_node_affinity=decode_terms(
            f"{where}.required_node_affinity", message.required_node_affinity, issues
        ),
        tolerations=tuple(
            _toleration(f"{where}.tolerations[{index}]", toleration, issues)
            for index, toleration in enumerate(message.tolerations)
        ),
        required_pod_affinity=decode_affinity_terms(
            f"{where}.required_pod_affinity", message.required_pod_affinity, issues
        ),
        required_pod_anti_affinity=decode_affinity_terms(
            f"{where}.required_pod_anti_affinity",
            message.required_pod_anti_affinity,
            issues,
        ),
        topology_spread=decode_spread(
            f"{where}.topology_spread", message.topology_spread, issues
        ),
        host_ports=decode_host_ports(f"{where}.host_ports", message.host_ports, issues),
        unsupported=tuple(message.unsupported),
        volume_node_affinity=tuple(
            decode_terms(f"{where}.volume_node_affinity[{index}]", one.terms, issues)
            for index, one in enumerate(message.volume_node_affinity)
        ),
        preferred_node_affinity=decode_preferred_nodes(
            f"{where}.preferred_node_affinity", message.preferred_node_affinity, issues
        ),
        preferred_pod_affinity=decode_preferred_pods(
            f"{where}.preferred_pod_affinity", message.preferred_pod_affinity, issues
        ),
        preferred_pod_anti_affinity=decode_preferred_pods(
            f"{where}.preferred_pod_anti_affinity",
            message.preferred_pod_anti_affinity,
            issues,
        ),
    )


def _toleration(where: str, message: pb.Toleration, issues: Issues) -> Toleration:
    operator = TolerationOperator.EQUAL
    if message.operator:
        operator = issues.member(
            f"{where}.operator", message.operator, TolerationOperator, operator
        )
    effect = None
    if message.effect:
        effect = issues.member(
            f"{where}.effect", message.effect, TaintEffect, TaintEffect.NO_SCHEDULE
        )
    if not message.key and operator is not TolerationOperator.EXISTS:
        issues.add(f"{where}.key", "is empty, which only Exists allows")
    return Toleration(message.key, operator, message.value, effect)
