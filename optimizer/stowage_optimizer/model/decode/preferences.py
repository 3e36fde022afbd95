"""Decoding preferences: terms with a weight, which break ties and forbid nothing."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.relations import decode_affinity_terms
from stowage_optimizer.model.decode.selectors import decode_term
from stowage_optimizer.model.pod_class import PreferredNodeTerm, PreferredPodTerm

LARGEST_WEIGHT = 100


def decode_preferred_nodes(
    where: str, messages: Iterable[pb.PreferredNodeTerm], issues: Issues
) -> tuple[PreferredNodeTerm, ...]:
    """Return the preferences for nodes."""
    terms = []
    for index, message in enumerate(messages):
        _check_weight(f"{where}[{index}].weight", message.weight, issues)
        term = decode_term(f"{where}[{index}].term", message.term, issues)
        terms.append(PreferredNodeTerm(message.weight, term))
    return tuple(terms)


def decode_preferred_pods(
    where: str, messages: Iterable[pb.PreferredPodTerm], issues: Issues
) -> tuple[PreferredPodTerm, ...]:
    """Return the preferences for other pods."""
    terms = []
    for index, message in enumerate(messages):
        _check_weight(f"{where}[{index}].weight", message.weight, issues)
        (term,) = decode_affinity_terms(
            f"{where}[{index}].term", [message.term], issues
        )
        terms.append(PreferredPodTerm(message.weight, term))
    return tuple(terms)


def _check_weight(where: str, weight: int, issues: Issues) -> None:
    if not 1 <= weight <= LARGEST_WEIGHT:
        issues.add(where, f"is {weight}, not in 1..{LARGEST_WEIGHT}")
