"""Which pods a term about other pods selects, and which nodes are one domain."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stowage_optimizer.model.node import Node
from stowage_optimizer.model.pod_class import PodAffinityTerm, PodClass, TopologySpread
from stowage_optimizer.model.relations import NO_DOMAIN
from stowage_optimizer.model.selectors import LabelSelector, Operator, Requirement, parse_integer
from stowage_optimizer.model.snapshot import Snapshot


def domains(nodes: Sequence[Node], key: str) -> tuple[str | None, ...]:
    """Return the domain of each node, None where the label ``key`` is missing."""
    return tuple(node.labels.get(key) for node in nodes)


def numbered(nodes: Sequence[Node], key: str) -> tuple[int, ...]:
    """Return the number of each node's domain, `NO_DOMAIN` where it has none."""
    numbers: dict[str, int] = {}
    return tuple(
        NO_DOMAIN if domain is None else numbers.setdefault(domain, len(numbers)) for domain in domains(nodes, key)
    )


def each_its_own(nodes: Sequence[Node], key: str) -> bool:
    """Return whether no two nodes share a domain, as with host names."""
    values = [value for value in domains(nodes, key) if value is not None]
    return len(values) == len(set(values))


def matches_all(labels: Mapping[str, str], requirements: Sequence[Requirement]) -> bool:
    """Return whether ``labels`` meet every one of ``requirements``."""
    return all(_holds(labels, requirement) for requirement in requirements)


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether ``selector`` picks a pod with ``labels``; None picks nothing."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and matches_all(
        labels, selector.match_expressions
    )


def _holds(labels: Mapping[str, str], requirement: Requirement) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            # A label that is not there is in no set.
            return value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
    number = None if value is None else parse_integer(value)
    if number is None:
        return False
    limit = int(requirement.values[0])
    return number > limit if requirement.operator is Operator.GT else number < limit


class PodIndex:
    """The classes that are there, found by their labels."""

    def __init__(self, snapshot: Snapshot, present: Iterable[str]) -> None:
        self._snapshot = snapshot
        self._all = tuple(present)
        self._with: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for class_id in self._all:
            for label in snapshot.classes[class_id].labels.items():
                self._with[label].append(class_id)

    def picked(self, term: PodAffinityTerm, carrier: PodClass) -> frozenset[str]:
        """Return the classes that ``term`` of ``carrier`` selects."""
        classes = self._snapshot.classes
        return frozenset(
            class_id for class_id in self.candidates(term.label_selector) if picks(term, carrier, classes[class_id])
        )

    def spread_over(self, spread: TopologySpread, pod_class: PodClass) -> frozenset[str]:
        """Return the classes whose pods ``spread`` of ``pod_class`` counts."""
        selector = spread_selector(spread, pod_class)
        if selector is None or not (selector.match_labels or selector.match_expressions):
            # As in the scheduler, an empty selector counts no pod.
            return frozenset()
        classes = self._snapshot.classes
        return frozenset(
            class_id
            for class_id in self.candidates(spread.label_selector)
            if classes[class_id].namespace == pod_class.namespace and selects(selector, classes[class_id].labels)
        )

    def candidates(self, selector: LabelSelector | None) -> Sequence[str]:
        """Return a short list that holds every class that ``selector`` picks."""
        if selector is None:
            return ()
        if not selector.match_labels:
            return self._all
        return min((self._with.get(label, []) for label in selector.match_labels.items()), key=len)


def picks(term: PodAffinityTerm, carrier: PodClass, other: PodClass) -> bool:
    """Return whether ``term`` of ``carrier`` selects pods of ``other``."""
    namespaces = term.namespaces or (carrier.namespace,)
    return other.namespace in namespaces and selects(term_selector(term, carrier), other.labels)


def term_selector(term: PodAffinityTerm, carrier: PodClass) -> LabelSelector | None:
    """Return the selector of ``term`` with the carrier's own labels filled in.

    The API server fills them in when the pod is created; then nothing is left to add.
    """
    return with_labels_of(
        with_labels_of(term.label_selector, carrier.labels, term.match_label_keys, Operator.IN),
        carrier.labels,
        term.mismatch_label_keys,
        Operator.NOT_IN,
    )


def spread_selector(spread: TopologySpread, pod_class: PodClass) -> LabelSelector | None:
    """Return what ``spread`` of ``pod_class`` selects, with the labels it compares."""
    return with_labels_of(spread.label_selector, pod_class.labels, spread.match_label_keys, Operator.IN)


def with_labels_of(
    selector: LabelSelector | None, labels: Mapping[str, str], keys: Sequence[str], operator: Operator
) -> LabelSelector | None:
    """Return ``selector`` that also compares ``keys`` with their values in ``labels``.

    Keys that ``labels`` lack are left out, as the API documents, and so are those
    that the selector compares in this way already.
    """
    if selector is None:
        return None
    known = {one.key for one in selector.match_expressions if one.operator is operator}
    added = tuple(Requirement(key, operator, (labels[key],)) for key in keys if key in labels and key not in known)
    return replace(selector, match_expressions=(*selector.match_expressions, *added))
