"""Decoding soft terms: wishes with a weight, which break ties and forbid nothing."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.faults import Faults
from stowage_optimizer.model.decode.relations import decode_affinity_terms
from stowage_optimizer.model.decode.selectors import decode_term
from stowage_optimizer.model.pod_class import PreferredNodeTerm, PreferredPodTerm

LARGEST_WEIGHT = 100


def decode_preferred_nodes(
    where: str, messages: Iterable[pb.PreferredNodeTerm], faults: Faults
) -> tuple[PreferredNodeTerm, ...]:
    """Return the wishes for nodes."""
    terms = []
    for index, message in enumerate(messages):
        _check_weight(f"{where}[{index}].weight", message.weight, faults)
        term = decode_term(f"{where}[{index}].term", message.term, faults)
        terms.append(PreferredNodeTerm(message.weight, term))
    return tuple(terms)


def decode_preferred_pods(
    where: str, messages: Iterable[pb.PreferredPodTerm], faults: Faults
) -> tuple[PreferredPodTerm, ...]:
    """Return the wishes for other pods."""
    terms = []
    for index, message in enumerate(messages):
        _check_weight(f"{where}[{index}].weight", message.weight, faults)
        (term,) = decode_affinity_terms(
            f"{where}[{index}].term", [message.term], faults
        )
        terms.append(PreferredPodTerm(message.weight, term))
    return tuple(terms)


def _check_weight(where: str, weight: int, faults: Faults) -> None:
    if not 1 <= weight <= LARGEST_WEIGHT:
        faults.add(where, f"is {weight}, not in 1..{LARGEST_WEIGHT}")
