"""Writing down what proves a dual bound, in the snapshot's own names."""

from __future__ import annotations

from collections import defaultdict

from stowage_optimizer.bounds.bound import Bound
from stowage_optimizer.bounds.prices import SCALE
from stowage_optimizer.bounds.question import Question
from stowage_optimizer.bounds.scope import make_scope
from stowage_optimizer.model.certificate import DualBound, PodPrice, RequirementPrice
from stowage_optimizer.model.packing import Packing


def written(question: Question, packing: Packing, bound: Bound) -> DualBound | None:
    """Return the prices of ``bound`` by pods and priorities; None if it has none.

    Parameters
    ----------
    question
        The question that the bound answers.
    packing
        What the question's problem was made of.
    bound
        The answer.
    """
    if bound.prices is None:
        return None
    scope = make_scope(question)
    members: defaultdict[int, list[str]] = defaultdict(list)
    for item, kind in zip(scope.items, scope.kind_of, strict=True):
        members[int(kind)].append(packing.items[item].pod_uid)
    return DualBound(
        scale=SCALE,
        pods=tuple(
            PodPrice(
                tuple(uids), int(bound.prices.pod[kind]), int(bound.prices.run[kind])
            )
            for kind, uids in sorted(members.items())
        ),
        requirements=tuple(
            RequirementPrice(packing.tiers[row.tier], row.phase.value, int(price))
            for row, price in zip(
                scope.requirements, bound.prices.requirement, strict=True
            )
        ),
    )
