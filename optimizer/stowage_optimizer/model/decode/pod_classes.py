"""Decoding pod classes: needs, ties to other pods, preferences, and their totals."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.shared import (
    decode_label_selector,
    decode_resources,
    decode_term,
    decode_terms,
    within_range,
)
from stowage_optimizer.model.node import LARGEST_TOTAL, Node, Resources, TaintEffect
from stowage_optimizer.model.pod_class import (
    HostPort,
    PodAffinityTerm,
    PodClass,
    PreferredNodeTerm,
    PreferredPodTerm,
    Toleration,
    TolerationOperator,
    TopologySpread,
)
from stowage_optimizer.model.selectors import LabelSelector

LARGEST_PORT = 65535


def _affinity_terms(where: str, messages: Iterable[pb.PodAffinityTerm], issues: Issues) -> tuple[PodAffinityTerm, ...]:
    return tuple(
        PodAffinityTerm(
            topology_key=issues.require(f"{where}[{index}].topology_key", message.topology_key),
            label_selector=_selector(f"{where}[{index}]", message, issues),
            namespaces=tuple(message.namespaces),
            match_label_keys=tuple(message.match_label_keys),
            mismatch_label_keys=tuple(message.mismatch_label_keys),
        )
        for index, message in enumerate(messages)
    )


def _spreads(where: str, messages: Iterable[pb.TopologySpreadConstraint], issues: Issues) -> tuple[TopologySpread, ...]:
    return tuple(_spread(f"{where}[{index}]", message, issues) for index, message in enumerate(messages))


def _host_ports(where: str, messages: Iterable[pb.HostPort], issues: Issues) -> tuple[HostPort, ...]:
    ports = []
    for index, message in enumerate(messages):
        if not 0 < message.port <= LARGEST_PORT:
            issues.add(f"{where}[{index}].port", f"is {message.port}, not in 1..65535")
        ports.append(HostPort(message.protocol, message.host_ip, message.port))
    return tuple(ports)


def _spread(where: str, message: pb.TopologySpreadConstraint, issues: Issues) -> TopologySpread:
    if message.max_skew < 1:
        issues.add(f"{where}.max_skew", f"is {message.max_skew}, must be at least 1")
    _one_of(f"{where}.when_unsatisfiable", message.when_unsatisfiable, ("DoNotSchedule", "ScheduleAnyway"), issues)
    for name in ("node_affinity_policy", "node_taints_policy"):
        policy = getattr(message, name)
        _one_of(f"{where}.{name}", policy, ("", "Honor", "Ignore"), issues)
    return TopologySpread(
        max_skew=message.max_skew,
        topology_key=issues.require(f"{where}.topology_key", message.topology_key),
        hard=message.when_unsatisfiable == "DoNotSchedule",
        label_selector=_selector(where, message, issues),
        min_domains=message.min_domains,
        honor_node_affinity=message.node_affinity_policy != "Ignore",
        honor_node_taints=message.node_taints_policy == "Honor",
        match_label_keys=tuple(message.match_label_keys),
    )


def _selector(
    where: str, message: pb.PodAffinityTerm | pb.TopologySpreadConstraint, issues: Issues
) -> LabelSelector | None:
    if not message.HasField("label_selector"):
        return None
    return decode_label_selector(f"{where}.label_selector", message.label_selector, issues)


def _one_of(where: str, value: str, allowed: tuple[str, ...], issues: Issues) -> None:
    if value not in allowed:
        names = ", ".join(repr(name) for name in allowed)
        issues.add(where, f"is {value!r}, not one of {names}")


LARGEST_WEIGHT = 100


def _preferred_nodes(
    where: str, messages: Iterable[pb.PreferredNodeTerm], issues: Issues
) -> tuple[PreferredNodeTerm, ...]:
    terms = []
    for index, message in enumerate(messages):
        _check_weight(f"{where}[{index}].weight", message.weight, issues)
        term = decode_term(f"{where}[{index}].term", message.term, issues)
        terms.append(PreferredNodeTerm(message.weight, term))
    return tuple(terms)


def _preferred_pods(
    where: str, messages: Iterable[pb.PreferredPodTerm], issues: Issues
) -> tuple[PreferredPodTerm, ...]:
    terms = []
    for index, message in enumerate(messages):
        _check_weight(f"{where}[{index}].weight", message.weight, issues)
        (term,) = _affinity_terms(f"{where}[{index}].term", [message.term], issues)
        terms.append(PreferredPodTerm(message.weight, term))
    return tuple(terms)


def _check_weight(where: str, weight: int, issues: Issues) -> None:
    if not 1 <= weight <= LARGEST_WEIGHT:
        issues.add(where, f"is {weight}, not in 1..{LARGEST_WEIGHT}")


PLAIN = frozenset({"id", "namespace", "priority", "requests", "labels", "owner"})
"""What every class may have; the rest takes long to read, and few have it."""


def decode_pod_classes(messages: Iterable[pb.PodClass], issues: Issues) -> dict[str, PodClass]:
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
    plain = _plain(message, within_range(message.requests))
    return replace(plain, unsupported=(*message.unsupported, why))


def _plain(message: pb.PodClass, requests: Resources) -> PodClass:
    return PodClass(
        id=message.id,
        namespace=message.namespace,
        priority=message.priority,
        requests=requests,
        labels=dict(message.labels),
        owner=message.owner.uid,
    )


def _pod_class(where: str, message: pb.PodClass, issues: Issues) -> PodClass:
    requests = decode_resources(f"{where}.requests", message.requests, issues)
    for name, amount in requests.amounts().items():
        if amount > LARGEST_TOTAL:
            what = f"is {amount}, above the largest amount {LARGEST_TOTAL}"
            issues.add(f"{where}.requests.{name}", what)
    plain = _plain(message, requests)
    if all(field.name in PLAIN for field, _ in message.ListFields()):
        return plain
    return _demanding(plain, where, message, issues)


def _demanding(plain: PodClass, where: str, message: pb.PodClass, issues: Issues) -> PodClass:
    """Return ``plain`` with what most classes do without."""
    return replace(
        plain,
        node_selector=dict(message.node_selector),
        required_node_affinity=decode_terms(f"{where}.required_node_affinity", message.required_node_affinity, issues),
        tolerations=tuple(
            _toleration(f"{where}.tolerations[{index}]", toleration, issues)
            for index, toleration in enumerate(message.tolerations)
        ),
        required_pod_affinity=_affinity_terms(f"{where}.required_pod_affinity", message.required_pod_affinity, issues),
        required_pod_anti_affinity=_affinity_terms(
            f"{where}.required_pod_anti_affinity", message.required_pod_anti_affinity, issues
        ),
        topology_spread=_spreads(f"{where}.topology_spread", message.topology_spread, issues),
        host_ports=_host_ports(f"{where}.host_ports", message.host_ports, issues),
        unsupported=tuple(message.unsupported),
        volume_node_affinity=tuple(
            decode_terms(f"{where}.volume_node_affinity[{index}]", one.terms, issues)
            for index, one in enumerate(message.volume_node_affinity)
        ),
        preferred_node_affinity=_preferred_nodes(
            f"{where}.preferred_node_affinity", message.preferred_node_affinity, issues
        ),
        preferred_pod_affinity=_preferred_pods(
            f"{where}.preferred_pod_affinity", message.preferred_pod_affinity, issues
        ),
        preferred_pod_anti_affinity=_preferred_pods(
            f"{where}.preferred_pod_anti_affinity", message.preferred_pod_anti_affinity, issues
        ),
    )


def _toleration(where: str, message: pb.Toleration, issues: Issues) -> Toleration:
    operator = TolerationOperator.EQUAL
    if message.operator:
        operator = issues.member(f"{where}.operator", message.operator, TolerationOperator, operator)
    effect = None
    if message.effect:
        effect = issues.member(f"{where}.effect", message.effect, TaintEffect, TaintEffect.NO_SCHEDULE)
    if not message.key and operator is not TolerationOperator.EXISTS:
        issues.add(f"{where}.key", "is empty, which only Exists allows")
    return Toleration(message.key, operator, message.value, effect)


def within_totals(
    class_ids: Iterable[str], classes: Mapping[str, PodClass], nodes: Sequence[Node], issues: Issues
) -> dict[str, PodClass]:
    """Return ``classes``; those whose pods request too much together are unsupported.

    So much is too much that it, or as much on each node that has any as the pods could
    fill there, is above `LARGEST_TOTAL`.

    The classes that request most are left out, as few as possible: they must not keep
    others from being planned.

    Parameters
    ----------
    class_ids
        The class of each pod.
    """
    counts = Counter(class_ids)
    asked: dict[str, dict[str, int]] = {}
    totals: Counter[str] = Counter()
    for class_id, pod_class in classes.items():
        # Pods of unsupported classes are not part of the problem.
        if counts[class_id] and not pod_class.unsupported:
            asked[class_id] = {name: counts[class_id] * amount for name, amount in pod_class.requests.amounts().items()}
            totals.update(asked[class_id])
    room: Counter[str] = Counter()
    having: Counter[str] = Counter()
    for node in nodes:
        amounts = node.allocatable.amounts()
        room.update(amounts)
        having.update(name for name, amount in amounts.items() if amount)
    sound = dict(classes)
    for name, total in totals.items():
        left, largest = sum(one.get(name, 0) for one in asked.values()), LARGEST_TOTAL
        if room[name] > LARGEST_TOTAL:
            largest //= having[name]
        by_amount = sorted(asked, key=lambda one: asked[one].get(name, 0))
        while left > largest:
            class_id = by_amount.pop()
            left -= asked.pop(class_id).get(name, 0)
            own = Issues()
            own.add("pods", f"request {total} of {name} together, over {largest}")
            why = issues.set_aside(own)
            sound[class_id] = replace(sound[class_id], unsupported=(why,))
    return sound
