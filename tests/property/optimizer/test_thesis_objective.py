"""The thesis's objective, which counts moves and evictions equally."""

from __future__ import annotations

from hypothesis import given, settings
from packing_oracle import feasible_assignments, items_of, packings

from stowage_optimizer.model.objective import score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing


def _thesis(packing: Packing, assignment: Assignment) -> tuple[int, ...]:
    """Return what the thesis maximises in turn, and before it who is kept.

    Source: the thesis (seed 002), section 4.1.1, "Cycling through Priorities".
    """
    value: list[int] = []
    for tier in packing.tiers:
        ends = [
            (item.home, node)
            for item, node in zip(items_of(packing), assignment, strict=True)
            if item.priority == tier
        ]
        running = [(home, node) for home, node in ends if home is not None]
        value += (
            sum(node is not None for _, node in running),
            sum(node is not None for _, node in ends),
            -sum(node != home for home, node in running),
        )
    return tuple(value)


@settings(max_examples=300)
@given(packing=packings())
def test_where_running_pods_are_kept_the_thesis_wants_the_same_plans(
    packing: Packing,
) -> None:
    """So `STRICT` needs no second objective: evictions of a tier are settled before."""
    found = list(feasible_assignments(packing))
    ours = {one: score(packing, one, Policy.STRICT) for one in found}
    theirs = {one: _thesis(packing, one) for one in found}
    best, their_best = max(ours.values()), max(theirs.values())

    assert {one for one in found if ours[one] == best} == {
        one for one in found if theirs[one] == their_best
    }
