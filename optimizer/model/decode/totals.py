"""Sums that the solver's 64-bit arithmetic must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from optimizer.model.decode.faults import Faults
from optimizer.model.pod_class import PodClass
from optimizer.model.snapshot import Pod

LARGEST_TOTAL = 2**60
"""Four times this still fits into 64 bits with a sign."""


def check_totals(
    pods: Sequence[Pod], classes: Mapping[str, PodClass], faults: Faults
) -> None:
    """Note a fault for each resource of which all pods together ask too much."""
    totals: Counter[str] = Counter()
    for class_id, count in Counter(pod.class_id for pod in pods).items():
        if class_id in classes:
            for name, amount in classes[class_id].requests.amounts().items():
                totals[name] += count * amount
    for name, total in totals.items():
        if total > LARGEST_TOTAL:
            faults.add("pods", f"request {total} of {name} together, over 2^60")
