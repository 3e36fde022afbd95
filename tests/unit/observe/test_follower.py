"""What a follower tells of its connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import client
from watch_server import WatchServer, a_pod, serving

from stowage_testbed.observe.change import Change
from stowage_testbed.observe.follower import (
    Arrival,
    Arrivals,
    Follower,
    Interrupted,
    Patience,
    Relisted,
    Resumed,
)
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.observe.source import PODS
from stowage_testbed.observe.stream import Stream

SOON_S = 10.0


@pytest.fixture
def server() -> WatchServer:
    return WatchServer()


@pytest.fixture
def arrivals(server: WatchServer) -> Iterator[Arrivals]:
    taken, clock = Arrivals(), ReceiptClock()
    with serving(server) as api:
        follower = follow(api, taken, clock)
        yield taken
        follower.cancel()


def follow(api: client.ApiClient, arrivals: Arrivals, clock: ReceiptClock) -> Follower:
    stream = Stream(api, PODS, clock)
    stream.list_all()
    return Follower(PODS, stream, arrivals, clock, Patience(SOON_S))


def take(arrivals: Arrivals, count: int) -> list[Arrival]:
    taken: list[Arrival] = []
    while len(taken) < count:
        found = arrivals.take_all(SOON_S)
        assert found, f"only {taken} came"
        taken += found
    return taken


def test_a_lost_connection_is_told_once_and_so_is_its_return(
    server: WatchServer, arrivals: Arrivals
) -> None:
    """However often it was tried; what came meanwhile is told after that."""
    # The client library tries three times more by itself.
    server.hang_up(times=6)
    server.send("ADDED", a_pod("new"))
    told = take(arrivals, 3)

    assert [type(one) for one in told] == [Interrupted, Resumed, Change]


def test_an_expired_version_is_an_interruption(
    server: WatchServer, arrivals: Arrivals
) -> None:
    """Between its last change and the new list anything may have happened."""
    server.items = [a_pod("there")]
    server.send("ERROR", {"code": 410, "message": "too old resource version"})

    assert [type(one) for one in take(arrivals, 3)] == [
        Interrupted,
        Relisted,
        Resumed,
    ]


def test_an_orderly_end_is_none(server: WatchServer, arrivals: Arrivals) -> None:
    """Servers end watches every half hour, and nothing is missed."""
    server.end_connection()
    server.send("ADDED", a_pod("new"))

    assert [type(one) for one in take(arrivals, 1)] == [Change]


def test_waiting_for_what_does_not_come_has_an_end() -> None:
    """Who writes a file has to do so also when nothing happens."""
    assert Arrivals().take_all(0.01) == []
