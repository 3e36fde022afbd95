"""Limits of a solve, while its best plan changes."""

from __future__ import annotations

import pytest

from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.bounds.question import Phase
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.packing import Item, as_nodes, packing_of
from stowage_optimizer.search.mending import Mender
from stowage_optimizer.strategies.lexicographic.shared_state import (
    ANYTHING,
    Limit,
    SharedState,
)

PROOF = Proof(ProofMethod.DUAL_BOUND)
MOVED = (1, 0, None)
"""Nodes of the pods below: placing the important one moves the other that runs."""


@pytest.fixture
def shared() -> SharedState:
    """Return a solve: a pod runs where one that waits would fit, another waits too."""
    packing = packing_of(
        ("large", "small"),
        ((4,), (2,)),
        (
            Item("runs", 1, (2,), (0, 1), 0),
            Item("important", 1, (4,), (0,), None),
            Item("waits", 0, (2,), (0, 1), None),
        ),
        (1, 0),
    )
    return SharedState(packing.problem, strict=True, bounds=trivial_bounds(packing))


def _offer(shared: SharedState, nodes: tuple[int | None, ...]) -> bool:
    return shared.offer(as_nodes(nodes), Mender(shared.problem, strict=True))


def test_a_limit_is_void_once_a_better_plan_reaches_less_of_what_it_presumes(
    shared: SharedState,
) -> None:
    """Who moves a pod to place one more above may place more below as well."""
    undisrupted = (TierScore(1, 1, 0), ANYTHING)
    shared.limit(Limit(1, Phase.PLACE, undisrupted, 2, PROOF))
    assert shared.bounds[1].placed == 2

    assert _offer(shared, MOVED)

    assert shared.bounds[1].placed == 3


def test_a_limit_that_presumes_nothing_stays(shared: SharedState) -> None:
    """It is of every plan."""
    shared.limit(Limit(1, Phase.PLACE, (ANYTHING, ANYTHING), 2, PROOF))

    assert _offer(shared, MOVED)

    assert shared.bounds[1].placed == 2


def test_a_limit_counts_once_the_plan_reaches_what_it_presumes(
    shared: SharedState,
) -> None:
    """A proof may be of better plans than the one that there is when it is done."""
    shared.limit(Limit(1, Phase.PLACE, (TierScore(1, 2, -2), ANYTHING), 2, PROOF))
    assert shared.bounds[1].placed == 3

    assert _offer(shared, MOVED)

    assert shared.bounds[1].placed == 2
