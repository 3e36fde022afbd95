"""Whether a selector picks a pod."""

from __future__ import annotations

from collections.abc import Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb


def pod_labels_match(selector: pb.LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether ``selector`` picks a pod with ``labels``; empty picks all."""
    for key, value in selector.match_labels.items():
        if key not in labels or labels[key] != value:
            return False
    for requirement in selector.match_expressions:
        present = requirement.key in labels
        among = present and labels[requirement.key] in requirement.values
        holds = {
            "In": among,
            "NotIn": not among,
            "Exists": present,
            "DoesNotExist": not present,
        }
        if not holds.get(requirement.operator, False):
            return False
    return True
