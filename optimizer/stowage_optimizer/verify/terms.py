"""Which pods a selector, or a term about other pods, selects; who must be apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb


@dataclass(frozen=True, slots=True)
class AntiAffinityRule:
    """Pods of the class ``carrier`` and of ``others`` share no domain of ``key``."""

    carrier: str
    key: str
    others: frozenset[str]

    def conflicting(self, name: str) -> frozenset[str]:
        """Return the classes that pods of the class ``name`` may not meet."""
        found = self.others if name == self.carrier else frozenset()
        return found | {self.carrier} if name in self.others else found


def pod_labels_match(selector: pb.LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether ``selector`` picks a pod with ``labels``; empty picks all."""
    for key, value in selector.match_labels.items():
        if key not in labels or labels[key] != value:
            return False
    for requirement in selector.match_expressions:
        present = requirement.key in labels
        among = present and labels[requirement.key] in requirement.values
        holds = {"In": among, "NotIn": not among, "Exists": present, "DoesNotExist": not present}
        if not holds.get(requirement.operator, False):
            return False
    return True


def covers(budget: pb.DisruptionBudget, wanted: pb.PodClass) -> bool:
    """Return whether pods of the class are under ``budget``."""
    return (
        budget.namespace == wanted.namespace
        and budget.HasField("selector")
        and pod_labels_match(budget.selector, wanted.labels)
    )


def term_selects(term: pb.PodAffinityTerm, carrier: pb.PodClass, other: pb.PodClass) -> bool:
    """Return whether ``term``, carried by ``carrier``, means pods of ``other``."""
    if not term.HasField("label_selector"):
        return False
    if not pod_labels_match(term.label_selector, other.labels):
        return False
    if not _keys_agree(term, carrier, other):
        return False
    if not term.namespaces:
        return other.namespace == carrier.namespace
    return other.namespace in term.namespaces


def _keys_agree(term: pb.PodAffinityTerm, carrier: pb.PodClass, other: pb.PodClass) -> bool:
    """Compare the labels that must, or must not, be the carrier's own.

    What the API server wrote into the selector already is not compared again.
    """
    same = _left_to_compare(term.match_label_keys, "In", term)
    different = _left_to_compare(term.mismatch_label_keys, "NotIn", term)
    return all(
        key not in carrier.labels or (key in other.labels and other.labels[key] == carrier.labels[key]) for key in same
    ) and all(
        key not in carrier.labels or key not in other.labels or other.labels[key] != carrier.labels[key]
        for key in different
    )


def _left_to_compare(keys: Iterable[str], operator: str, term: pb.PodAffinityTerm) -> list[str]:
    written = {one.key for one in term.label_selector.match_expressions if one.operator == operator}
    return [key for key in keys if key not in written]
