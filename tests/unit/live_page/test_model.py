"""A browser that takes a snapshot and deltas knows what the watches know."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from live_changes import a_change, a_node, a_plan, a_pod

from stowage_testbed.live_page.history import WIDTH, History, Standing
from stowage_testbed.live_page.model import LiveModel, Message
from stowage_testbed.live_page.page import page_of
from stowage_testbed.live_page.seen import PodState

SAID = "0/2 nodes are available: 2 Insufficient cpu."
NONE = -1


class Browser:
    """What the page's scripts make of the messages."""

    def __init__(self, snapshot: Message) -> None:
        self.told = snapshot

    def take(self, delta: Message) -> None:
        for key, value in delta.items():
            if key == "plans":
                uids = {plan["uid"] for plan in value}
                old = [one for one in self.told[key] if one["uid"] not in uids]
                self.told[key] = [*old, *value]
            elif isinstance(value, list):
                self.told[key] = [*self.told[key], *value]
            else:
                self.told[key] = value

    def pods_at(self, time_ms: float) -> dict[str, tuple[str, int]]:
        """Return node and state of the pods that there were, by name."""
        base = self.told["base"]
        now = dict(enumerate(zip(base["node"], base["state"], strict=True)))
        log = self.told["log"]
        for at in range(0, len(log), WIDTH):
            moment, pod, _, node, state, _ = log[at : at + WIDTH]
            if moment <= time_ms:
                now[pod] = (node, state)
        names = [row and row[0] for row in self.nodes_at(time_ms)]
        return {
            self.told["names"][pod]: ("" if node == NONE else names[node] or "?", state)
            for pod, (node, state) in now.items()
            if state != PodState.ABSENT
        }

    def nodes_at(self, time_ms: float) -> list[Any]:
        rows = dict(enumerate(self.told["nodes"]))
        for moment, node, row in self.told["node_log"]:
            if moment <= time_ms:
                rows[node] = row
        return [rows.get(node) for node in range(max(rows, default=-1) + 1)]


def a_model(*bodies: tuple[str, dict[str, Any]], most_changes: int = 1000) -> LiveModel:
    model = LiveModel("c", History(most_changes))
    model.listed(a_change(kind, body) for kind, body in bodies)
    return model


def test_the_browser_has_the_same_numbers() -> None:
    """Else a pod that waits would be drawn as one that has a node."""
    script = page_of("c")
    states = re.search(r"const STATE = \{(.*?)\};", script)
    columns = re.search(r"const COLUMNS = \[(.*?)\];", script)

    assert states
    assert columns
    assert states[1].split(",") == [
        f" {state.name.lower()}: {state.value}" + " " * (state is PodState.LEAVING)
        for state in PodState
    ]
    assert re.findall(r"\w+", columns[1]) == list(Standing._fields)


def test_a_snapshot_says_who_stands_where_and_who_waits_for_what() -> None:
    """It is all that a browser has to begin with."""
    model = a_model(
        ("Node", a_node("n1", zone="a")),
        ("Pod", a_pod("p1", node="n1", priority=5)),
        ("Pod", a_pod("p2", said=SAID, cpu="2")),
    )

    told = model.snapshot()

    assert told["nodes"] == [["n1", "a", 4000, 8 << 30, 110, {}, False, True]]
    assert told["kinds"] == [
        ["web", 5, 500, 1 << 30, "shop", {}],
        ["web", 0, 2000, 1 << 30, "shop", {}],
    ]
    assert told["reasons"] == [(("Insufficient cpu",), SAID)]
    assert told["base"] == {
        "kind": [0, 1], "node": [0, -1], "state": [2, 1], "reason": [-1, 0],
    }  # fmt: skip
    assert told["created"] == [1_700_000_000] * 2
    assert told["log"] == told["node_log"] == []


def test_a_delta_says_only_what_is_new() -> None:
    """A hundred changes a second must stay small."""
    model = a_model(("Node", a_node("n1")), ("Pod", a_pod("p1")))
    assert model.delta() == {}

    model.take([a_change("Pod", a_pod("p1", node="n1"), "MODIFIED", 1500)])
    first = model.delta()
    # A change of what the page does not show.
    model.take(
        [a_change("Pod", a_pod("p1", node="n1", phase="Running"), "MODIFIED", 1600)]
    )

    assert first == {"now": 1500, "log": [1500, 0, 0, 0, PodState.BOUND, NONE]}
    assert model.delta() == {}


def test_the_time_slider_reaches_back_to_the_first_list() -> None:
    """Also for a browser that is opened later."""
    model = a_model(("Node", a_node("n1")), ("Pod", a_pod("p1")))
    model.take([a_change("Pod", a_pod("p1", node="n1"), "MODIFIED", 1000)])
    model.take([a_change("Pod", a_pod("p2", node="n1"), "ADDED", 2000)])
    model.take([a_change("Pod", a_pod("p1", node="n1"), "DELETED", 3000)])
    model.take([a_change("Node", a_node("n2"), "ADDED", 3500)])

    late = Browser(model.snapshot())

    assert late.pods_at(0) == {"p1": ("", PodState.WAITING)}
    assert late.pods_at(1000) == {"p1": ("n1", PodState.BOUND)}
    assert set(late.pods_at(2999)) == {"p1", "p2"}
    assert set(late.pods_at(3000)) == {"p2"}
    assert [len([row for row in late.nodes_at(at) if row]) for at in (0, 3500)] == [
        1,
        2,
    ]


@pytest.mark.parametrize("seed", range(5))
def test_deltas_and_a_new_snapshot_tell_the_same(seed: int) -> None:
    """At any moment since the older half was forgotten."""
    draw = np.random.default_rng(seed)
    model = a_model(*(("Node", a_node(f"n{n}")) for n in range(4)), most_changes=60)
    browser = Browser(model.snapshot())
    truth: dict[str, tuple[str, int]] = {}
    seen: list[tuple[int, dict[str, tuple[str, int]]]] = []
    for at_ms in range(1, 400):
        name = f"p{draw.integers(40)}"
        if draw.random() < 0.2:
            model.take([a_change("Pod", a_pod(name), "DELETED", at_ms)])
            truth.pop(name, None)
        else:
            node = str(draw.choice(["", "n0", "n1", "n2", "n3"]))
            model.take([a_change("Pod", a_pod(name, node=node), "MODIFIED", at_ms)])
            truth[name] = (node, PodState.BOUND if node else PodState.WAITING)
        news = model.delta()
        if model.renumbered:
            model.renumbered = False
            browser = Browser(model.snapshot())
            seen.clear()
        else:
            browser.take(news)
        seen.append((at_ms, dict(truth)))
        assert browser.pods_at(at_ms) == truth

    late = Browser(model.snapshot())
    assert [late.pods_at(at_ms) for at_ms, _ in seen] == [then for _, then in seen]
    assert len(late.told["names"]) <= 40
    assert len(late.told["log"]) <= 60 * WIDTH


def test_what_a_new_list_lacks_is_gone() -> None:
    """Pods and nodes may be deleted while no watch is open."""
    model = a_model(
        ("Node", a_node("n1")), ("Node", a_node("n2")),
        ("Pod", a_pod("p1", node="n1")), ("Pod", a_pod("p2", node="n2")),
    )  # fmt: skip

    model.listed(
        [
            a_change("Node", a_node("n1"), at_ms=9000),
            a_change("Pod", a_pod("p1", node="n1"), at_ms=9000),
        ]
    )

    browser = Browser(model.snapshot())
    assert set(browser.pods_at(9000)) == {"p1"}
    assert set(browser.pods_at(8999)) == {"p1", "p2"}
    assert [row and row[0] for row in browser.nodes_at(9000)] == ["n1", None]


def test_a_plan_keeps_the_moments_of_its_phases() -> None:
    """The slider shows a plan as it was."""
    model = a_model(("Node", a_node("n1")))
    move = {"pod": "shop/p1", "fromNode": "n1", "toNode": "n2", "state": "Waiting"}
    for at_ms, phase in (
        (10, "Solving"),
        (20, "Proposed"),
        (30, "Proposed"),
        (40, "Executing"),
    ):
        plan = a_plan("q", phase, moves=[move])
        model.take([a_change("PackingPlan", plan, "MODIFIED", at_ms)])
    model.take([a_change("PackingPlan", a_plan("q", "Executing"), "DELETED", 50)])

    (told,) = model.delta()["plans"]

    assert told["phases"] == [[10, "Solving"], [20, "Proposed"], [40, "Executing"]]
    assert told["steps"] == [("move", "shop/p1", "n1", "n2", "Waiting")]
    assert told["gone"] == 50


def test_only_the_newest_plans_are_kept() -> None:
    """A scheduler makes plans for months."""
    model = a_model(("Node", a_node("n1")))
    for number in range(70):
        model.take(
            [
                a_change(
                    "PackingPlan", a_plan(f"q{number}", "Completed"), "ADDED", number
                )
            ]
        )

    names = [plan["name"] for plan in model.snapshot()["plans"]]

    assert names == [f"q{number}" for number in range(20, 70)]
