"""The observer against a scripted API server."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from kubernetes import client
from watch_server import WatchServer, a_pod, serving

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.api.objects import PAGE
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.observe.change import Verb
from stowage_testbed.observe.condition import (
    Condition,
    ConditionResult,
    UnreachableStateError,
)
from stowage_testbed.observe.observer import PAUSES_PER_LOOK, Observer
from stowage_testbed.observe.receipt import NS_PER_S, ReceiptClock
from stowage_testbed.observe.source import PODS
from stowage_testbed.observe.state import State

SOON_S = 10.0


@pytest.fixture
def server() -> WatchServer:
    return WatchServer()


@pytest.fixture
def api(server: WatchServer) -> Iterator[client.ApiClient]:
    with serving(server) as served:
        yield served


def bound(count: int) -> Condition:
    def condition(state: State) -> ConditionResult:
        nodes = [pod.node for pod in state.pods("ns") if pod.bound]
        return ConditionResult(len(nodes) == count, f"{len(nodes)} bound")

    return condition


def alone_and_bound(state: State) -> ConditionResult:
    pods = state.pods("ns")
    return ConditionResult([pod.bound for pod in pods] == [True], f"{len(pods)} pods")


def test_looking_at_a_large_state_takes_a_small_share_of_a_core() -> None:
    """What looks all the time at ten thousand pods takes from their scheduler."""
    skipped_ns, looks = [0], list[tuple[int, int]]()
    clock = ReceiptClock(lambda: time.monotonic_ns() + skipped_ns[0])
    server = WatchServer()

    def slow(state: State) -> ConditionResult:
        began = clock.now().monotonic_ns
        skipped_ns[0] += 20_000_000
        looks.append((began, clock.now().monotonic_ns))
        # Something new after each look, so that there is another one.
        number = str(len(looks))
        server.send("ADDED", a_pod(f"p{number}", node="n1", version=number))
        return bound(4)(state)

    with (
        serving(server) as api,
        Observer(api, [PODS], clock, lambda: skipped_ns[0]) as observer,
    ):
        observer.wait_for("the pods", slow, timeout_s=SOON_S)

    rests = [
        (later[0] - earlier[1]) / (earlier[1] - earlier[0])
        for earlier, later in pairwise(looks)
    ]
    assert len(rests) >= 4
    assert all(rest >= PAUSES_PER_LOOK - 0.01 for rest in rests)


def test_others_that_have_the_core_do_not_make_a_wait_longer() -> None:
    """On a busy machine what comes about in the pause after a look was missed."""
    looks, skipped_ns = [0], [0]
    clock = ReceiptClock(lambda: time.monotonic_ns() + skipped_ns[0])
    server = WatchServer()

    def held_up(state: State) -> ConditionResult:
        looks[0] += 1
        skipped_ns[0] += 600_000_000
        server.send("ADDED", a_pod(f"p{looks[0]}", node="n1", version=str(looks[0])))
        return bound(2)(state)

    with serving(server) as api, Observer(api, [PODS], clock) as observer:
        # A pause by the clock would last until the deadline.
        observer.wait_for("the pods", held_up, timeout_s=SOON_S)

    assert looks[0] >= 2


def test_waits_for_a_server_that_is_away_for_a_while() -> None:
    """A fault that restarts the API server must not end the watch of what it does."""
    server = WatchServer()
    with (
        serving(server) as api,
        Observer(api, [PODS]) as observer,
        observer.patient(SOON_S),
    ):
        server.hang_up()
        server.send("ADDED", a_pod("new", node="n1", version="2"))
        observer.wait_for("the pod", bound(1), timeout_s=SOON_S)


def test_patience_lasts_for_a_block(server: WatchServer, api: client.ApiClient) -> None:
    """A step that stops the API server must not hide that it ends later on."""
    away = {"code": 500, "message": "etcd has left"}
    with Observer(api, [PODS]) as observer:
        with observer.patient(SOON_S):
            server.send("ERROR", away)
            server.end_connection()
            server.send("ADDED", a_pod("new", node="n1", version="2"))
            observer.wait_for("the pod", bound(1), timeout_s=SOON_S)
        server.send("ERROR", away)

        with pytest.raises(StowageError, match="etcd has left"):
            observer.wait_for("another pod", bound(2), timeout_s=SOON_S)


def test_quiet_counts_from_what_was_done_last(
    server: WatchServer, api: client.ApiClient
) -> None:
    """What comes of a change may take a moment, in which nothing changes."""
    server.items = [a_pod("old", node="n1")]

    with Observer(api, [PODS]) as observer:
        done = observer.clock.now()
        observer.wait_for(
            "quiet",
            bound(1),
            timeout_s=SOON_S,
            quiet_s=0.2,
            quiet_after=done,
        )

        assert observer.clock.now().seconds_since(done) >= 0.2


def test_sees_what_was_there_and_what_comes(
    server: WatchServer, api: client.ApiClient
) -> None:
    """A scenario starts on a cluster that is already alive."""
    server.items = [a_pod("old", node="n1")]

    with Observer(api, [PODS]) as observer:
        server.send("ADDED", a_pod("new", version="2"))
        server.send("MODIFIED", a_pod("new", node="n2", version="3"))
        observer.wait_for("two pods", bound(2), timeout_s=SOON_S)

        journal = observer.take_journal()
    assert [change.verb for change in journal] == [
        Verb.LISTED,
        Verb.ADDED,
        Verb.MODIFIED,
    ]
    assert "managedFields" not in journal[0].body["metadata"]


@pytest.mark.parametrize("forgets", [False, True])
def test_a_long_list_comes_in_pages_and_shows_one_moment(
    server: WatchServer, api: client.ApiClient, forgets: bool
) -> None:
    """Fifty thousand pods in one answer are a quarter of a gigabyte at once.

    A server that no longer knows the version of the first page is asked for all in one.
    """
    server.items = [a_pod(f"p{number}") for number in range(2 * PAGE + 1)]
    server.forgets_lists = forgets

    with Observer(api, [PODS]) as observer:
        listed = observer.take_journal()

    assert [one.name for one in listed] == [f"p{n}" for n in range(2 * PAGE + 1)]
    assert len({one.receipt for one in listed}) == 1
    assert server.pages == ([PAGE, PAGE, 2 * PAGE + 1] if forgets else [PAGE, PAGE, 1])


def test_a_full_disk_ends_the_watch_with_its_cause(
    server: WatchServer, api: client.ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is well: nobody should look there for what is wrong."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Observer(api, [PODS]) as observer:
        monkeypatch.setattr(os, "pwrite", full)
        server.send("ADDED", a_pod("new", version="2"))
        with pytest.raises(StowageError, match=r"No space left .*TMPDIR"):
            observer.wait_for("a pod", bound(1), timeout_s=SOON_S)


def test_a_new_journal_begins_with_what_is_there(
    server: WatchServer, api: client.ApiClient
) -> None:
    """What a scenario finds is neither a change of its own nor unknown to it."""
    server.items = [a_pod("old"), a_pod("gone")]

    with Observer(api, [PODS]) as observer:
        server.send("MODIFIED", a_pod("old", node="n1", version="2"))
        server.send("DELETED", a_pod("gone", version="3"))
        observer.wait_for("the old pod", alone_and_bound, timeout_s=SOON_S)

        (there,) = observer.restart_journal()
        assert (there.verb, there.name) == (Verb.LISTED, "old")
        assert there.body["spec"]["nodeName"] == "n1"
        assert observer.take_journal() == []


def test_resumes_after_the_server_ends_the_connection(
    server: WatchServer, api: client.ApiClient
) -> None:
    """API servers end watches every half hour; nothing may be lost or seen twice."""
    with Observer(api, [PODS]) as observer:
        server.send("ADDED", a_pod("first", node="n1", version="7"))
        server.end_connection()
        server.send("ADDED", a_pod("second", node="n1", version="8"))
        observer.wait_for("two pods", bound(2), timeout_s=SOON_S)

        assert server.watched_from.get() == "1"
        assert server.watched_from.get() == "7"


def test_lists_again_when_history_is_gone(
    server: WatchServer, api: client.ApiClient
) -> None:
    """After a compaction the only truth is a new list; what it lacks was deleted."""
    server.items = [a_pod("stays", node="n1"), a_pod("goes", node="n1")]

    with Observer(api, [PODS]) as observer:
        server.items = [a_pod("stays", node="n1")]
        server.send("ERROR", {"code": 410, "message": "too old resource version"})
        observer.wait_for("one pod", bound(1), timeout_s=SOON_S)

        deleted = [c for c in observer.take_journal() if c.verb is Verb.DELETED]
    assert [change.name for change in deleted] == ["goes"]


def test_what_a_new_list_lacks_went_before_what_it_shows(
    server: WatchServer, api: client.ApiClient
) -> None:
    """Else a pod would seem to have come while the room it took was still taken."""
    server.items = [a_pod("goes", node="n1")]

    with Observer(api, [PODS]) as observer:
        server.items = [a_pod("comes", node="n1"), a_pod("too", node="n1")]
        server.send("ERROR", {"code": 410, "message": "too old resource version"})
        observer.wait_for("two pods", bound(2), timeout_s=SOON_S)

        journal = observer.take_journal()
    assert [(change.verb, change.name) for change in journal[1:]] == [
        (Verb.DELETED, "goes"),
        (Verb.LISTED, "comes"),
        (Verb.LISTED, "too"),
    ]


def test_a_timeout_shows_the_last_state(api: client.ApiClient) -> None:
    """A time-out without the state that was seen cannot be understood."""
    with (
        Observer(api, [PODS]) as observer,
        pytest.raises(WaitTimeoutError, match=r"waited 0\.01 s for a pod.*: 0 bound"),
    ):
        observer.wait_for("a pod", bound(1), timeout_s=0.01)


def test_stops_waiting_for_what_cannot_come(api: client.ApiClient) -> None:
    """A plan that failed will not complete: say so at once, not after a minute."""
    with (
        Observer(api, [PODS]) as observer,
        pytest.raises(UnreachableStateError, match="the plan failed"),
    ):
        observer.wait_for(
            "the plan",
            lambda _: ConditionResult(False, "", error="the plan failed"),
            timeout_s=SOON_S,
        )


def test_a_refused_list_names_the_answer(
    server: WatchServer, api: client.ApiClient
) -> None:
    """A missing CRD or permission is found when the watch begins."""
    server.list_status = 404

    with pytest.raises(ApiRefusedError, match="refused to list Pod with 404"):
        Observer(api, [PODS]).watch(PODS)


def test_a_broken_watch_ends_the_wait(
    server: WatchServer, api: client.ApiClient
) -> None:
    """A dead API server must not look like a cluster in which nothing happens."""
    with Observer(api, [PODS]) as observer:
        server.send("ERROR", {"code": 500, "message": "etcd has left"})

        with pytest.raises(StowageError, match="etcd has left"):
            observer.wait_for("a pod", bound(1), timeout_s=SOON_S)


def test_leaving_ends_every_thread(api: client.ApiClient) -> None:
    """A watch that lives on would keep the process, or the next test, busy."""
    with Observer(api, [PODS]):
        assert [t for t in threading.enumerate() if t.name == "watch-Pod"]

    assert not [t for t in threading.enumerate() if t.name == "watch-Pod"]


def test_stability_is_part_of_a_settled_state(
    server: WatchServer, api: client.ApiClient
) -> None:
    """A state seen in passing is not settled: a late change restarts the quiet time."""
    with Observer(api, [PODS]) as observer:
        server.send("ADDED", a_pod("first", node="n1"))

        observer.wait_for(
            "a quiet pod",
            bound(1),
            timeout_s=SOON_S,
            quiet_s=0.05,
            quiet_kinds=("Pod",),
        )

        last = observer.read(lambda state: state.last_change("Pod"))
        assert last is not None
        assert observer.clock.now().seconds_since(last) >= 0.05


def test_a_look_that_costs_much_is_taken_less_often(
    server: WatchServer, api: client.ApiClient
) -> None:
    """Beside a large burst, looking after each change would take a whole core."""
    changes, clock = 400, FakeTime()
    looks: list[int] = []

    def all_there(state: State) -> ConditionResult:
        clock.spend(0.01)
        looks.append(len(state.pods("ns")))
        return ConditionResult(looks[-1] == changes, f"{looks[-1]} pods")

    with Observer(api, [PODS], ReceiptClock(clock.now_ns), clock.now_ns) as observer:

        def send_one_by_one() -> None:
            for number in range(changes):
                server.send("ADDED", a_pod(f"p{number}", version=str(number + 2)))
                wait_until(
                    "the pod to be seen",
                    lambda: observer.read(lambda state: len(state.pods("ns"))),
                    (number + 1).__eq__,
                    timeout_s=SOON_S,
                    poll_s=0.0001,
                )

        sender = threading.Thread(target=send_one_by_one)
        sender.start()
        observer.wait_for("all pods", all_there, timeout_s=1000)
        sender.join()

    assert len(looks) < changes / 4


class FakeTime:
    """A clock on which only spending takes time."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        return self._now_ns

    def spend(self, seconds: float) -> None:
        self._now_ns += int(seconds * NS_PER_S)
