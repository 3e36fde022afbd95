"""The watch behind the page, on a made cluster in which pods come and go."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes.client import ApiClient
from made_clusters import Switches, made_cluster

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.live.history import POD_COLUMNS
from stowage_testbed.live.watching import LiveWatch

NODES, PODS = 20, 100
STATES = 3


class Seen:
    """What a browser knows that got what was at first, and then messages."""

    def __init__(self, now: dict[str, Any]) -> None:
        self.sequence: int = now["seq"]
        self.names = dict(enumerate(now["podNames"]))
        self.kinds = len(now["podKinds"])
        self.pods: dict[int, list[int]] = {}

    def take(self, message: dict[str, Any]) -> None:
        self.sequence = message["seq"]
        self.names.update(message.get("names", []))
        self.kinds += len(message.get("podKinds", []))
        pods = message.get("pods", [])
        for at in range(0, len(pods), 1 + POD_COLUMNS):
            row, *columns = pods[at : at + 1 + POD_COLUMNS]
            self.pods[row] = columns


@contextmanager
def watching(api: ApiClient) -> Iterator[LiveWatch]:
    watch = LiveWatch(api)
    watch.begin()
    try:
        yield watch
    finally:
        watch.stop()


@pytest.fixture
def watch() -> Iterator[LiveWatch]:
    with made_cluster(NODES, PODS) as api, watching(api) as begun:
        yield begun


def until(watch: LiveWatch, what: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    wait_until(f"the watch {what}", watch.now, holds, timeout_s=HANG_S)


def test_messages_lead_from_one_state_to_the_next(watch: LiveWatch) -> None:
    """A browser that was told all of them knows what the server knows."""
    seen = Seen(watch.now())
    assert len(seen.names) == PODS

    wait_until(
        "messages to come",
        lambda: watch.messages.after(seen.sequence) or [],
        lambda found: len(found) >= STATES,
        timeout_s=HANG_S,
    )
    watch.stop()
    messages = watch.messages.after(seen.sequence)
    assert messages is not None
    for _, message in messages:
        seen.take(json.loads(message))

    now = watch.now()
    assert seen.sequence == now["seq"]
    assert seen.kinds == len(now["podKinds"])
    assert [seen.names[row] for row in sorted(seen.names)] == now["podNames"]
    assert len(seen.pods) > STATES


def test_an_interruption_is_told_and_so_is_its_end() -> None:
    """The page must not show a cluster at rest that is only out of sight."""
    switches = Switches()
    with made_cluster(NODES, PODS, switches=switches) as api, watching(api) as watch:
        switches.away = True
        until(watch, "to be lost", lambda now: "Pod:" in now["lost"])
        switches.away = False
        until(watch, "to be back", lambda now: not now["lost"])


def test_plans_of_a_later_chart_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody thinks of opening the page anew."""
    monkeypatch.setattr("stowage_testbed.live.watching.LOOK_S", 0.0)
    switches = Switches()
    with made_cluster(NODES, PODS, switches=switches) as api, watching(api) as watch:
        assert watch.now()["plans"] == []
        switches.plan = "first"
        until(watch, "to have a plan", lambda now: bool(now["plans"]))

        (plan,) = watch.now()["plans"]
        assert plan[0] == "first"
