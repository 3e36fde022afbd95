"""What a PackingPlan saves, before, while and after it is carried out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from watch_server import WatchServer, serving

from stowage_testbed.errors import StowageError
from stowage_testbed.prices import Prices
from stowage_testbed.whatif.node_use import Costs
from stowage_testbed.whatif.plan_savings import plan_savings, saving_of

COSTS = Costs("USD", {"n1": Decimal(2), "n2": Decimal(5), "n3": Decimal("0.5")})


def pod(
    uid: str, node: str, *, owner: str = "ReplicaSet", phase: str = "Running"
) -> Any:
    return {
        "metadata": {"uid": uid, "name": uid, "ownerReferences": [{"kind": owner}]},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def plan(state: str | None, phase: str = "Proposed") -> Any:
    move = {"pod": "ns/a", "podUID": "a", "fromNode": "n1", "toNode": "n3"}
    moves = [{**move, **({"state": state} if state else {})}]
    return {"metadata": {"name": "p"}, "status": {"phase": phase, "moves": moves}}


DAEMON, ENDED = (
    pod("d", "n1", owner="DaemonSet"),
    pod("e", "n1", phase="Succeeded"),
)


@pytest.mark.parametrize(
    ("state", "pods"),
    [
        (None, [pod("a", "n1")]),
        ("Waiting", [pod("a", "n1")]),
        ("Evicted", [pod("a", "n1")]),
        ("Gone", []),
        ("Bound", [pod("b", "n3")]),
    ],
)
def test_a_plan_saves_as_much_however_far_it_has_come(
    state: str | None, pods: list[Any]
) -> None:
    """It is looked at before it is approved, and after it was carried out."""
    found = saving_of(plan(state), [*pods, DAEMON, ENDED], COSTS)

    assert (found.empties, found.fills) == (("n1",), ("n3",))
    assert found.an_hour == Decimal("1.5")
    assert found.sentence() == (
        "It empties 1 node (n1), fills n3, saves 1.50 USD an hour, 1,095.00 a month."
    )


def test_a_node_with_another_pod_is_not_emptied_and_one_with_a_pod_not_filled() -> None:
    """Half a node saves nothing."""
    pods = [pod("a", "n1"), pod("c", "n1"), pod("b", "n3")]

    found = saving_of(plan(None), pods, COSTS)

    assert not found.empties + found.fills
    assert found.an_hour == 0


def test_nodes_without_a_price_are_named() -> None:
    """A saving that leaves something out must say so."""
    found = saving_of(plan(None), [pod("a", "n1")], Costs("", {"n1": Decimal(2)}))

    assert found.short() == "2.00 (and 1 without a price)"
    assert found.sentence().endswith("without a price: n3.")


def test_plans_that_came_to_nothing_save_nothing_and_cost_no_request() -> None:
    """Their moves stand in the status still."""
    server = WatchServer()
    server.list_status = 403

    with serving(server) as api:
        assert plan_savings(api, [plan(None, "Aborted")], Prices(label="x")) == {}
        with pytest.raises(StowageError, match="right to list nodes and pods"):
            plan_savings(api, [plan(None)], Prices(label="x"))
