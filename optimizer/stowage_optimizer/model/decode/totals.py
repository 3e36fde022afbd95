"""Sums that the solver's 64-bit arithmetic must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.snapshot import Pod

LARGEST_TOTAL = 2**60
"""Four times this still fits into 64 bits with a sign."""


def within_totals(
    pods: Sequence[Pod], classes: Mapping[str, PodClass], issues: Issues
) -> dict[str, PodClass]:
    """Return ``classes``; those whose pods request too much together are unsupported.

    The classes that request most are left out, as few as possible: they must not keep
    others from being planned.
    """
    counts = Counter(pod.class_id for pod in pods)
    asked: dict[str, dict[str, int]] = {}
    totals: Counter[str] = Counter()
    for class_id, pod_class in classes.items():
        # Pods of unsupported classes are not part of the problem.
        if counts[class_id] and not pod_class.unsupported:
            asked[class_id] = {
                name: counts[class_id] * amount
                for name, amount in pod_class.requests.amounts().items()
            }
            totals.update(asked[class_id])
    sound = dict(classes)
    for name, total in totals.items():
        left = total
        by_amount = sorted(asked, key=lambda one: asked[one].get(name, 0))
        while left > LARGEST_TOTAL:
            class_id = by_amount.pop()
            left -= asked.pop(class_id).get(name, 0)
            own = Issues()
            own.add("pods", f"request {total} of {name} together, over 2^60")
            why = issues.set_aside(own)
            sound[class_id] = replace(sound[class_id], unsupported=(why,))
    return sound
