"""One watch feeds all browsers, and what goes wrong with it is said on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from live_changes import ScriptedWatches, a_change, a_node, a_pod

from stowage_testbed.errors import StowageError
from stowage_testbed.live_page import feed as feed_module
from stowage_testbed.live_page.feed import KEEP_OPEN, Feed

Event = tuple[str, dict[str, Any]]


def events(messages: Iterator[bytes]) -> Iterator[Event]:
    """Yield the events of a stream, without its comments."""
    for message in messages:
        if message == KEEP_OPEN:
            continue
        for part in message.decode().removesuffix("\n\n").split("\n\n"):
            name, data = part.split("\n")
            yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def next_with(stream: Iterator[Event], key: str) -> Any:
    """Return what the next event with a key says of it."""
    return next(told[key] for _, told in stream if key in told)


@pytest.fixture
def watches() -> ScriptedWatches:
    return ScriptedWatches(a_change("Node", a_node("n1")), a_change("Pod", a_pod("p1")))


def test_every_browser_gets_a_snapshot_and_then_deltas(
    watches: ScriptedWatches,
) -> None:
    """Whenever it comes."""
    with Feed("c", watches.opened, bool) as feed:
        early = events(feed.messages())
        name, told = next(early)
        assert (name, told["names"], told["log"]) == ("snapshot", ["p1"], [])
        watches.send(a_change("Pod", a_pod("p1", node="n1"), "MODIFIED", 10))

        changed = next_with(early, "log")
        name, late = next(events(feed.messages()))

    assert name == "snapshot"
    assert late["log"] == changed
    assert changed[2:5] == [0, 0, 2]


def test_a_browser_that_lags_gets_a_snapshot(
    watches: ScriptedWatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deltas are not kept for ever for a tab that sleeps."""
    monkeypatch.setattr(feed_module, "KEPT_DELTAS", 2)
    with Feed("c", watches.opened, bool) as feed:
        asleep, awake = events(feed.messages()), events(feed.messages())
        next(asleep)
        next(awake)
        for number in range(4):
            watches.send(a_change("Pod", a_pod(f"q{number}"), "ADDED", number))
            next_with(awake, "names")

        name, told = next(asleep)

    assert name == "snapshot"
    assert told["names"] == ["p1", "q0", "q1", "q2", "q3"]


def test_a_watch_that_breaks_off_is_said_and_opened_again(
    watches: ScriptedWatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that stands still must not look as if the cluster did."""
    monkeypatch.setattr(feed_module, "RETRY_S", 0.01)
    with Feed("c", watches.opened, bool) as feed:
        stream = events(feed.messages())
        next(stream)
        watches.send(a_change("Node", a_node("n1")), a_change("Node", a_node("n2")))
        watches.failure = StowageError("the server is away")

        assert next_with(stream, "notice") == "the server is away"
        assert next_with(stream, "notice") == ""
        _, told = next(events(feed.messages()))

    assert [row[2][0] for row in told["node_log"] if row[2]] == ["n2"]


def test_a_cluster_that_refuses_is_told_before_there_is_a_page() -> None:
    """On the command line, where the way out can be typed."""

    @contextmanager
    def refused() -> Iterator[ScriptedWatches]:
        raise StowageError("nobody may list pods")
        yield ScriptedWatches()

    with pytest.raises(StowageError, match="nobody may list"), Feed("c", refused, bool):
        pass


def test_a_connection_that_breaks_is_told_with_the_way_out() -> None:
    """The client library has errors of its own."""

    @contextmanager
    def broken() -> Iterator[ScriptedWatches]:
        raise ConnectionResetError("reset by peer")
        yield ScriptedWatches()

    with (
        pytest.raises(StowageError, match=r"reset by peer; see whether it is up"),
        Feed("c", broken, bool),
    ):
        pass


def test_rights_and_plans_are_asked_for_again(
    watches: ScriptedWatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chart and the right may come while the page is open."""
    monkeypatch.setattr(feed_module, "RIGHTS_S", 0.01)
    watches.has_plans = False
    asked: list[bool] = []

    def may_change() -> bool:
        asked.append(True)
        return len(asked) > 1

    with Feed("c", watches.opened, may_change) as feed:
        stream = events(feed.messages())
        _, told = next(stream)
        assert told["changeable"] is False
        assert asked == []
        watches.has_plans = True

        assert next_with(stream, "changeable") is True

    assert watches.watched == ["PackingPlan"]
