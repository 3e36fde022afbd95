"""No pod comes to a node that refuses it, lacks room, or has its port taken."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case, amounts
from stowage_optimizer.verify.violation import Violation


def check_eligibility(case: Case) -> Iterator[Violation]:
    """Yield each arrival that a cordon, taint, selector or refusal forbids."""
    for pod, node in case.arrivals():
        for problem in turned_away(case, pod.uid, node.name):
            yield Violation("eligibility", pod.uid, f"on {node.name}: {problem}")


def turned_away(case: Case, uid: str, node: str) -> list[str]:
    """Return why the pod ``uid`` may not come to ``node``; nothing if it may."""
    wanted = case.class_of(uid)
    problems = list(_problems(wanted, case.nodes[node]))
    if (wanted.id, node) in case.forbidden:
        problems.append(f"class {wanted.id} was refused there")
    return problems


def _problems(wanted: pb.PodClass, node: pb.Node) -> Iterator[str]:
    taints = list(node.taints)
    if node.unschedulable:
        taints.append(
            pb.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
        )
    for taint in untolerated(wanted, taints):
        yield f"taint {taint.key}={taint.value}:{taint.effect} not tolerated"
    if not affinity_holds(wanted, node):
        yield "its node selector or affinity does not hold"
    for volume in wanted.volume_node_affinity:
        if not any(_term_holds(term, node) for term in volume.terms):
            yield "a volume cannot be reached from it"


def untolerated(wanted: pb.PodClass, taints: Iterable[pb.Taint]) -> Iterator[pb.Taint]:
    """Yield those of ``taints`` that keep pods of the class away."""
    for taint in taints:
        if taint.effect == "PreferNoSchedule":
            continue
        if not any(_tolerated(one, taint) for one in wanted.tolerations):
            yield taint


def affinity_holds(wanted: pb.PodClass, node: pb.Node) -> bool:
    """Return whether ``node`` is one that the class selects."""
    terms = wanted.required_node_affinity
    return all(
        key in node.labels and node.labels[key] == value
        for key, value in wanted.node_selector.items()
    ) and (not terms or any(_term_holds(term, node) for term in terms))


def _tolerated(toleration: pb.Toleration, taint: pb.Taint) -> bool:
    same_effect = toleration.effect in ("", taint.effect)
    if toleration.operator == "Exists":
        return same_effect and toleration.key in ("", taint.key)
    equal = toleration.key == taint.key and toleration.value == taint.value
    return same_effect and toleration.operator in ("", "Equal") and equal


def _term_holds(term: pb.NodeSelectorTerm, node: pb.Node) -> bool:
    checks = [(one, dict(node.labels)) for one in term.match_expressions]
    checks += [(one, {"metadata.name": node.name}) for one in term.match_fields]
    return bool(checks) and all(_holds(one, labels) for one, labels in checks)


def _holds(requirement: pb.Requirement, labels: Mapping[str, str]) -> bool:
    present = requirement.key in labels
    value = labels.get(requirement.key, "")
    match requirement.operator:
        case "In":
            return present and value in requirement.values
        case "NotIn":
            return not present or value not in requirement.values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
        case "Gt" | "Lt" as operator:
            return present and _numbers_hold(operator, value, requirement.values[0])
    return False


def _numbers_hold(operator: str, value: str, limit: str) -> bool:
    digits = value[1:] if value.startswith(("+", "-")) else value
    if not (digits.isascii() and digits.isdigit()):
        return False
    return int(value) > int(limit) if operator == "Gt" else int(value) < int(limit)


def check_capacity(case: Case) -> Iterator[Violation]:
    """Yield each node and resource that arriving pods overfill.

    A node may be overcommitted before the plan; what matters is that no pod which
    asks for a scarce resource is added to it.
    """
    coming: defaultdict[str, list[str]] = defaultdict(list)
    for pod, node in case.arrivals():
        coming[node.name].append(pod.uid)
    asked: dict[str, set[str]] = {}
    # Nodes that no pod comes to are unchanged.
    load: dict[str, Counter[str]] = {}
    for where, newcomers in coming.items():
        asked[where] = {name for uid in newcomers for name, _ in case.asked_for(uid)}
        used = load[where] = Counter()
        for uid in (*case.staying_on(where), *newcomers):
            for name, amount in case.asked_for(uid):
                used[name] += amount
    for reservation in case.snapshot.reservations:
        if reservation.node in asked:
            load[reservation.node].update(amounts(reservation.held))
    for name, resources in asked.items():
        room = amounts(case.nodes[name].allocatable)
        for resource in sorted(resources):
            taken = load[name][resource]
            if taken > room[resource]:
                yield Violation(
                    "capacity",
                    name,
                    f"{taken} of {resource} used, {room[resource]} allocatable",
                )


ALL = "0.0.0.0"  # noqa: S104 - the API's word for every address


def check_ports(case: Case) -> Iterator[Violation]:
    """Yield each arrival whose ports clash with those of another pod there."""
    holders: defaultdict[str, list[str]] = defaultdict(list)
    wanting = {name for name, one in case.classes.items() if one.host_ports}
    if not wanting:
        return
    for uid, where in case.after.items():
        if where and case.class_of(uid).id in wanting:
            holders[where].append(uid)
    for pod, node in case.arrivals():
        for other in port_clashes(case, pod.uid, holders[node.name]):
            yield Violation(
                "host-ports", pod.uid, f"on {node.name}: {other} has its port"
            )


def port_clashes(case: Case, uid: str, others: Iterable[str]) -> Iterator[str]:
    """Yield the pods of ``others`` that take a port of the pod ``uid``."""
    wanted = case.class_of(uid).host_ports
    if not wanted:
        return
    for other in others:
        taken = case.class_of(other).host_ports
        if other != uid and any(_clash(a, b) for a in wanted for b in taken):
            yield other


def _clash(one: pb.HostPort, other: pb.HostPort) -> bool:
    if one.port != other.port or (one.protocol or "TCP") != (other.protocol or "TCP"):
        return False
    addresses = {one.host_ip or ALL, other.host_ip or ALL}
    return ALL in addresses or len(addresses) == 1
