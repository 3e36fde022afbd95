"""Decoding a request: what `codec` does not say of one message by itself."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import compress
from operator import attrgetter
from typing import TypeVar

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.codec import Found, read
from stowage_optimizer.model.devices import DeviceHolding, DeviceLayout, DeviceRequest
from stowage_optimizer.model.issues import Issues
from stowage_optimizer.model.node import LARGEST_TOTAL, Node
from stowage_optimizer.model.options import LARGEST_TIME_LIMIT_S, Limits, SolveOptions
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.selectors import LabelSelector
from stowage_optimizer.model.snapshot import DisruptionBudget, Gang, Refusal, Reservation, Snapshot

T = TypeVar("T")
C = TypeVar("C", DeviceLayout, DeviceRequest, DeviceHolding, Gang)
L = TypeVar("L", DeviceLayout, DeviceRequest, Gang)


def decode_snapshot(message: pb.Snapshot, issues: Issues) -> Snapshot:
    """Return the snapshot of ``message``; what breaks the contract goes to ``issues``.

    The snapshot may be used only if ``issues`` has none but isolated ones. A class,
    node, budget or reservation that has one is left alone, and named in a refusal.
    """
    issues.require("id", message.id)
    refusals: list[Refusal] = []

    def each(field: str, kind: type[T], replaced: Callable[[T, str], T], subject: Callable[[T], str]) -> tuple[T, ...]:
        """Read the messages of a field; one with a fault is replaced, and refused if it has a subject."""
        made = []
        for index, one in enumerate(getattr(message, field)):
            faults: Found = []
            made.append(read(kind, one, faults))
            if faults:
                summary = issues.isolate(f"{field}[{index}]", faults)
                made[-1] = replaced(made[-1], summary)
                if name := subject(made[-1]):
                    refusals.append(Refusal(name, "unreadable", summary))
        return tuple(made)

    nodes = each("nodes", Node, lambda one, _: one.closed(), lambda one: f"node {one.name}")
    names = _names(issues, "nodes[{}].name", "node", [one.name for one in nodes])
    layouts = _by_id(message, "device_layouts", DeviceLayout, issues)
    requests = _by_id(message, "device_requests", DeviceRequest, issues)
    gangs = _by_id(message, "gangs", Gang, issues)
    for index, node in enumerate(nodes):
        if node.device_layout:
            issues.known(f"nodes[{index}].device_layout", "device layout", layouts, node.device_layout)
    all_classes = each("pod_classes", PodClass, PodClass.left_alone, lambda _: "")
    _names(issues, "pod_classes[{}].id", "class", [one.id for one in all_classes])
    for index, one in enumerate(all_classes):
        issues.require(f"pod_classes[{index}].namespace", one.namespace)
        for at, request in enumerate(one.device_requests):
            issues.known(f"pod_classes[{index}].device_requests[{at}]", "device request", requests, request)
        if one.gang:
            issues.known(f"pod_classes[{index}].gang", "gang", gangs, one.gang)
    classes = {one.id: one for one in all_classes}
    pods = _pods(message.pods, classes, names, issues)
    pods, classes = _exempt_apart(pods, within_totals(pods.class_id, classes, nodes, issues))
    budgets = each(
        "disruption_budgets",
        DisruptionBudget,
        # Which pods it covers is not known: its whole namespace stays.
        lambda one, _: replace(one, selector=LabelSelector(), disruptions_allowed=0),
        lambda one: f"budget {one.namespace}/{one.name}",
    )
    reservations = each(
        "reservations",
        Reservation,
        lambda one, _: replace(one, held=one.held.clipped()),
        lambda one: f"reservation {one.name}",
    )
    for index, held in enumerate(reservations):
        issues.known(f"reservations[{index}].node", "node", names, held.node)
    return Snapshot(
        id=message.id,
        nodes=nodes,
        classes=classes,
        pods=pods,
        budgets=budgets,
        reservations=reservations,
        forbidden=_forbidden(message, classes, names, issues),
        refusals=tuple(refusals),
        device_layouts=layouts,
        device_requests=requests,
        device_holdings=_holdings(message, nodes, layouts, pods, issues),
        gangs=gangs,
    )


def _computed(message: pb.Snapshot, field: str, kind: type[C], issues: Issues) -> tuple[C, ...]:
    """Read a field that the scheduler computes: a fault spoils the whole input."""
    made = []
    for index, one in enumerate(getattr(message, field)):
        faults: Found = []
        made.append(read(kind, one, faults))
        for path, what in faults:
            issues.add(f"{field}[{index}]{path}", what)
    return tuple(made)


def _by_id(message: pb.Snapshot, field: str, kind: type[L], issues: Issues) -> dict[str, L]:
    found = _computed(message, field, kind, issues)
    _names(issues, f"{field}[{{}}].id", field[:-1].replace("_", " "), [one.id for one in found])
    return {one.id: one for one in found}


def _holdings(
    message: pb.Snapshot, nodes: Iterable[Node], layouts: Mapping[str, DeviceLayout], pods: Pods, issues: Issues
) -> tuple[DeviceHolding, ...]:
    """Return who holds which device; each must be one of its node's layout."""
    found = _computed(message, "device_holdings", DeviceHolding, issues)
    if not found:
        return ()
    layout_of = {node.name: layouts.get(node.device_layout) for node in nodes}
    uids = set(pods.uid)
    for index, holding in enumerate(found):
        where = f"device_holdings[{index}]"
        issues.known(f"{where}.node", "node", layout_of, holding.node)
        layout = layout_of.get(holding.node)
        if not 0 <= holding.device < (len(layout.devices) if layout else 0):
            issues.add(
                f"{where}.device", f"is {holding.device}, which the layout of node {holding.node!r} does not have"
            )
        if holding.pod_uid:
            issues.known(f"{where}.pod_uid", "pod", uids, holding.pod_uid)
    return found


def _names(issues: Issues, where: str, what: str, names: Iterable[str]) -> set[str]:
    """Return ``names``; none may be missing, and each is there once."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        issues.require(where.format(index), name)
        issues.unique(where.format(index), what, seen, name)
    return seen


def _pods(messages: Iterable[pb.Pod], classes: Mapping[str, PodClass], nodes: set[str], issues: Issues) -> Pods:
    """Return the pods in their order; UIDs and names must be unique."""
    # Each look at an element of a repeated field makes a new object.
    rows = list(messages)
    pods = Pods(**{column.name: list(map(attrgetter(column.name), rows)) for column in fields(Pods)})
    if not _sound(pods, classes, nodes):
        _check(rows, classes, nodes, issues)
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


def _check(pods: Iterable[pb.Pod], classes: Mapping[str, PodClass], nodes: set[str], issues: Issues) -> None:
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
        if pod.node:
            issues.known(f"{where}.node", "node", nodes, pod.node)


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
            why = issues.isolate("pods", [("", f"request {total} of {name} together, over {largest}")])
            sound[class_id] = replace(sound[class_id], unsupported=(why,))
    return sound


def decode_options(
    message: pb.SolveOptions,
    issues: Issues,
    *,
    strategies: Collection[str],
    default_time_limit_s: float,
    default_workers: int = 0,
) -> SolveOptions:
    """Return the options of ``message``; out of range values go to ``issues``."""
    faults: Found = []
    options = replace(
        read(SolveOptions, message, faults),
        time_limit_s=message.time_limit_s or default_time_limit_s,
        workers=message.workers or default_workers,
        limits=read(Limits, message, faults),
    )
    for path, what in faults:
        issues.add(f"options{path}", what)
    if not message.time_limit_s and not 0 < default_time_limit_s <= LARGEST_TIME_LIMIT_S:
        issues.add("options.time_limit_s", f"is {default_time_limit_s} by default, not in (0, 86400]")
    if options.strategy not in strategies:
        known = ", ".join(sorted(strategies))
        way_out = "`pip install 'stowage[strategies]'` adds those of the papers"
        issues.add("options.strategy", f"is {options.strategy!r}, not one of {known}; {way_out}")
    return options
