"""The plan is worth its disruption: better, tier by tier, than doing nothing."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.emptied import check_emptied
from stowage_optimizer.verify.tiers import count_tiers
from stowage_optimizer.verify.violation import Violation


def check_worth(case: Case) -> Iterator[Violation]:
    """Yield a violation if the first tier that changes does not gain pods."""
    if case.consolidates:
        yield from check_emptied(case)
        return
    if case.changes_nothing:
        return
    for priority, before, after, disruption in count_tiers(case):
        if after > before:
            return
        if after < before:
            yield Violation(
                "worth", str(priority), f"{after} placed, {before} were before"
            )
            return
        if disruption:
            yield Violation(
                "worth", str(priority), "pods are disrupted and none is gained"
            )
            return
    yield Violation("worth", "plan", "changes something and gains nothing")
