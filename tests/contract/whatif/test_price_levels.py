"""The optimiser counts nodes; asked in parts, it empties those that cost most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from priced_nodes import costs, snapshot_of

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.whatif.emptying import emptying_by
from stowage_testbed.whatif.node_use import Costs, NodeUse
from stowage_testbed.whatif.price_levels import dearest
from stowage_testbed.whatif.proposing import PlanLimits, Proposing

INTO_N3 = snapshot_of(
    (1, 1, 2, 4),
    [(1, "n0", ""), (1, "n1", ""), (2, "n2", ""), (2, "n3", "singleton")],
)
"""Into the room on n3 go the pods of n0 and n1, or the one of n2."""

IN_TURN = snapshot_of(
    (2, 2, 3, 3), [(2, "n0", ""), (1, "n1", ""), (1, "n2", ""), (1, "n3", "singleton")]
)
"""Beside n3's pod there is room for that of n0, or for those of n1 and n2."""

ON_EMPTY = snapshot_of((2, 2, 4), [(2, "n0", ""), (2, "n1", "")])
"""Both nodes can be emptied, if the third is filled."""


@pytest.fixture(scope="module")
def proposing() -> Iterator[Proposing]:
    with running_service() as service:
        yield Proposing(Path("unused"), service, PlanLimits(5))


def emptied_by(
    proposing: Proposing, snapshot: pb.Snapshot, priced: Costs | None
) -> set[str]:
    use = NodeUse(snapshot)
    plan = dearest(proposing, snapshot, priced).plan
    fewest = plan.nodes_in_use.lower_bound
    found = emptying_by(snapshot, use, plan, fewest, priced)
    if found.savings:
        assert found.savings.saved_an_hour <= found.savings.at_most_an_hour
    return {one.node for one in found.emptied}


def test_one_dear_node_goes_before_two_cheap_ones(proposing: Proposing) -> None:
    """A platform engineer pays for nodes and does not count them."""
    assert emptied_by(proposing, INTO_N3, None) == {"n0", "n1"}
    assert emptied_by(proposing, INTO_N3, costs("1", "1", "9", "1")) == {"n2"}
    assert emptied_by(proposing, INTO_N3, costs("9", "9", "1", "1")) == {"n0", "n1"}


def test_an_empty_node_is_filled_only_for_dearer_ones(proposing: Proposing) -> None:
    """One node less in use that costs more than both is no saving."""
    assert emptied_by(proposing, ON_EMPTY, None) == {"n0", "n1"}
    assert emptied_by(proposing, ON_EMPTY, costs("1", "2", "9")) == set()
    assert emptied_by(proposing, ON_EMPTY, costs("3", "4", "2")) == {"n0", "n1"}


def test_what_the_dear_nodes_leave_is_emptied_as_well(proposing: Proposing) -> None:
    """A round for dear nodes alone would leave the cheap ones as they are."""
    assert emptied_by(proposing, IN_TURN, costs("9", "1", "1.5", "1")) == {"n0", "n2"}


def test_rounds_respect_the_limits_together(proposing: Proposing) -> None:
    """Each round moves other pods; what they break is one budget."""
    budgeted = pb.Snapshot()
    budgeted.CopyFrom(IN_TURN)
    budgeted.disruption_budgets.add(
        namespace="ns", name="b", selector=pb.LabelSelector(), disruptions_allowed=1
    )

    priced = costs("9", "1", "1.5", "1")

    assert emptied_by(proposing, budgeted, priced) == {"n0"}
