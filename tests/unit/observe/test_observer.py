"""Watches against a scripted API server: the observer, a follower, and a stream."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from urllib3.exceptions import ProtocolError
from watch_server import WatchServer, a_pod, serving

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.api.objects import PAGE
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.observe.change import NS_PER_S, Change, ReceiptClock, Verb
from stowage_testbed.observe.condition import Condition, ConditionResult, UnreachableStateError
from stowage_testbed.observe.observer import PAUSES_PER_LOOK, Observer
from stowage_testbed.observe.source import PODS
from stowage_testbed.observe.state import State
from stowage_testbed.observe.watches import Arrival, HistoryGoneError, Interrupted, Relisted, Resumed, Watch, Watches

SOON_S = 10.0


@pytest.fixture
def server() -> WatchServer:
    return WatchServer()


@contextmanager
def watching(server: WatchServer, *items: dict[str, Any]) -> Iterator[Observer]:
    """Watch the pods of a server that has these."""
    server.items = list(items)
    with serving(server) as api, Observer(api, [PODS]) as observer:
        yield observer


def bound(count: int) -> Condition:
    def condition(state: State) -> ConditionResult:
        nodes = [pod.node for pod in state.pods("ns") if pod.bound]
        return ConditionResult(len(nodes) == count, f"{len(nodes)} bound")

    return condition


def alone_and_bound(state: State) -> ConditionResult:
    pods = state.pods("ns")
    return ConditionResult([pod.bound for pod in pods] == [True], f"{len(pods)} pods")


def late_clock(skipped_ns: list[int]) -> ReceiptClock:
    return ReceiptClock(lambda: time.monotonic_ns() + skipped_ns[0])


def test_looking_at_a_large_state_takes_a_small_share_of_a_core() -> None:
    """What looks all the time at ten thousand pods takes from their scheduler."""
    skipped_ns, looks = [0], list[tuple[int, int]]()
    clock, server = late_clock(skipped_ns), WatchServer()

    def slow(state: State) -> ConditionResult:
        began = clock.now().monotonic_ns
        skipped_ns[0] += 20_000_000
        looks.append((began, clock.now().monotonic_ns))
        # Something new after each look, so that there is another one.
        number = str(len(looks))
        server.send("ADDED", a_pod(f"p{number}", node="n1", version=number))
        return bound(4)(state)

    with serving(server) as api, Observer(api, [PODS], clock, lambda: skipped_ns[0]) as observer:
        observer.wait_for("the pods", slow, timeout_s=SOON_S)

    rests = [(later[0] - earlier[1]) / (earlier[1] - earlier[0]) for earlier, later in pairwise(looks)]
    assert len(rests) >= 4
    assert all(rest >= PAUSES_PER_LOOK - 0.01 for rest in rests)


def test_others_that_have_the_core_do_not_make_a_wait_longer() -> None:
    """On a busy machine what comes about in the pause after a look was missed."""
    looks, skipped_ns = [0], [0]
    server = WatchServer()

    def held_up(state: State) -> ConditionResult:
        looks[0] += 1
        skipped_ns[0] += 600_000_000
        server.send("ADDED", a_pod(f"p{looks[0]}", node="n1", version=str(looks[0])))
        return bound(2)(state)

    with serving(server) as api, Observer(api, [PODS], late_clock(skipped_ns)) as one:
        # A pause by the clock would last until the deadline.
        one.wait_for("the pods", held_up, timeout_s=SOON_S)

    assert looks[0] >= 2


def test_patience_lasts_for_a_block(server: WatchServer) -> None:
    """A step that stops the API server must not hide that it ends later on."""
    away = {"code": 500, "message": "etcd has left"}
    with watching(server) as observer:
        with observer.patient(SOON_S):
            server.hang_up()
            server.send("ADDED", a_pod("new", node="n1", version="2"))
            server.send("ERROR", away)
            server.end_connection()
            server.send("ADDED", a_pod("second", node="n1", version="3"))
            observer.wait_for("two pods", bound(2), timeout_s=SOON_S)
        server.send("ERROR", away)

        with pytest.raises(StowageError, match="etcd has left"):
            observer.wait_for("another pod", bound(3), timeout_s=SOON_S)


def test_quiet_counts_from_what_was_done_or_changed_last(server: WatchServer) -> None:
    """What comes of a change may take a moment: a late one restarts the quiet time."""
    with watching(server, a_pod("old", node="n1")) as observer:
        done = observer.clock.now()
        observer.wait_for("quiet", bound(1), timeout_s=SOON_S, quiet_s=0.2, quiet_after=done)
        assert observer.clock.now().seconds_since(done) >= 0.2

        server.send("ADDED", a_pod("first", node="n1"))
        observer.wait_for("rest", bound(2), timeout_s=SOON_S, quiet_s=0.05, quiet_kinds=("Pod",))
        last = observer.read(lambda state: state.last_change("Pod"))
        assert last is not None
        assert observer.clock.now().seconds_since(last) >= 0.05


def test_sees_what_was_there_and_what_comes(server: WatchServer) -> None:
    """A scenario starts on a cluster that is already alive; it leaves no thread."""
    # A session of tests may watch a cluster of its own.
    before = set(threading.enumerate())
    with watching(server, a_pod("old", node="n1")) as observer:
        server.send("ADDED", a_pod("new", version="2"))
        server.send("MODIFIED", a_pod("new", node="n2", version="3"))
        observer.wait_for("two pods", bound(2), timeout_s=SOON_S)

        journal = observer.take_journal()
        assert "watch-Pod" in [thread.name for thread in set(threading.enumerate()) - before]
    verbs = [change.verb for change in journal]
    assert verbs == [Verb.LISTED, Verb.ADDED, Verb.MODIFIED]
    assert "watch-Pod" not in [thread.name for thread in set(threading.enumerate()) - before]


@pytest.mark.parametrize("forgets", [False, True])
def test_a_long_list_comes_in_pages(server: WatchServer, forgets: bool) -> None:
    """Fifty thousand pods in one answer are a quarter of a gigabyte at once.

    A server that no longer knows the version of the first page is asked for all in one.
    """
    server.forgets_lists = forgets
    pods = [a_pod(f"p{number}") for number in range(2 * PAGE + 1)]

    with watching(server, *pods) as observer:
        listed = observer.take_journal()

    assert [one.name for one in listed] == [f"p{n}" for n in range(2 * PAGE + 1)]
    assert len({one.receipt for one in listed}) == 1
    assert server.pages == ([PAGE, PAGE, 2 * PAGE + 1] if forgets else [PAGE, PAGE, 1])


def test_a_new_journal_begins_with_what_is_there(server: WatchServer) -> None:
    """What a scenario finds is neither a change of its own nor unknown to it."""
    with watching(server, a_pod("old"), a_pod("gone")) as observer:
        server.send("MODIFIED", a_pod("old", node="n1", version="2"))
        server.send("DELETED", a_pod("gone", version="3"))
        observer.wait_for("the old pod", alone_and_bound, timeout_s=SOON_S)

        (there,) = observer.restart_journal()
        assert (there.verb, there.name) == (Verb.LISTED, "old")
        assert there.body["spec"]["nodeName"] == "n1"
        assert observer.take_journal() == []


def test_resumes_after_the_server_ends_the_connection(server: WatchServer) -> None:
    """API servers end watches every half hour; nothing may be lost or seen twice."""
    with watching(server) as observer:
        server.send("ADDED", a_pod("first", node="n1", version="7"))
        server.end_connection()
        server.send("ADDED", a_pod("second", node="n1", version="8"))
        observer.wait_for("two pods", bound(2), timeout_s=SOON_S)

        assert server.watched_from.get() == "1"
        assert server.watched_from.get() == "7"


def test_lists_again_when_history_is_gone(server: WatchServer) -> None:
    """What a new list lacks went before what it shows came: else room is taken."""
    gone = {"code": 410, "message": "too old resource version"}

    with watching(server, a_pod("goes", node="n1")) as observer:
        server.items = [a_pod("comes", node="n1"), a_pod("too", node="n1")]
        server.send("ERROR", gone)
        observer.wait_for("two pods", bound(2), timeout_s=SOON_S)

        journal = observer.take_journal()
    assert [(change.verb, change.name) for change in journal[1:]] == [
        (Verb.DELETED, "goes"),
        (Verb.LISTED, "comes"),
        (Verb.LISTED, "too"),
    ]


def test_a_wait_in_vain_shows_the_last_state(server: WatchServer) -> None:
    """It ends at its time, or at once when what is waited for cannot come."""
    said = r"waited 0\.01 s for a pod.*: 0 bound"
    failed = ConditionResult(False, "", error="the plan failed")

    with watching(server) as observer:
        with pytest.raises(WaitTimeoutError, match=said):
            observer.wait_for("a pod", bound(1), timeout_s=0.01)
        with pytest.raises(UnreachableStateError, match="the plan failed"):
            observer.wait_for("the plan", lambda _: failed, timeout_s=SOON_S)


def test_a_refused_list_names_the_answer(server: WatchServer) -> None:
    """A missing CRD or permission is found when the watch begins."""
    server.list_status = 404

    with serving(server) as api, pytest.raises(ApiRefusedError, match="refused to list Pod with 404"):
        Observer(api, [PODS]).watch(PODS)


@pytest.fixture
def watches(server: WatchServer) -> Iterator[Watches]:
    with serving(server) as api:
        watches = Watches(api, patience_s=SOON_S)
        watches.list_source(PODS)
        watches.follow()
        yield watches
        watches.stop()


def take(watches: Watches, count: int) -> list[Arrival]:
    taken: list[Arrival] = []
    while len(taken) < count:
        found = watches.take_all(SOON_S)
        assert found, f"only {taken} came"
        taken += found
    return taken


def test_a_lost_connection_is_told_once_and_so_is_its_return(server: WatchServer, watches: Watches) -> None:
    """However often it was tried; what came meanwhile is told after that.

    An orderly end is none, as servers end watches every half hour.
    """
    server.end_connection()
    server.send("ADDED", a_pod("first"))
    assert [type(one) for one in take(watches, 1)] == [Change]
    assert watches.take_all(0.01) == []
    # The client library tries three times more by itself.
    server.hang_up(times=6)
    server.send("ADDED", a_pod("new"))

    told = take(watches, 3)

    assert [type(one) for one in told] == [Interrupted, Resumed, Change]


def test_a_new_list_is_an_interruption(server: WatchServer, watches: Watches) -> None:
    """Between its last change and the new list anything may have happened."""
    server.items = [a_pod("there")]
    server.send("ERROR", {"code": 410, "message": "too old resource version"})

    told = take(watches, 3)

    assert [type(one) for one in told] == [Interrupted, Relisted, Resumed]


def test_a_step_of_the_wall_clock_does_not_bend_an_interval() -> None:
    """Wall time hangs on the monotonic clock, once."""
    monotonic = iter([100, 100 + NS_PER_S, 100 + 2 * NS_PER_S])
    wall = iter([5 * NS_PER_S, 1])
    clock = ReceiptClock(lambda: next(monotonic), lambda: next(wall))

    first, second = clock.now(), clock.now()

    assert second.seconds_since(first) == 1.0
    assert second.wall_ns - first.wall_ns == NS_PER_S


def line(name: str) -> bytes:
    metadata = {"uid": name, "name": name, "namespace": "ns", "resourceVersion": "1"}
    return json.dumps({"type": "ADDED", "object": {"metadata": metadata}}).encode()


class Connection:
    """Gives one change; then it is cut, or closed from elsewhere, and gives noise or an error."""

    def __init__(
        self, watch: Watch, status: int = 200, cut: Exception | None = None, closed: Exception | None = None
    ) -> None:
        self._watch = watch
        self._cut = cut
        self._closed = closed
        self.status = status
        self.closed = False

    def shutdown(self) -> None:
        return

    def close(self) -> None:
        self.closed = True

    def stream(self, **_asked: Any) -> Iterator[bytes]:
        yield line("web") + b"\n"
        if self._cut:
            raise self._cut
        self._watch.cancel()
        if self._closed:
            raise self._closed
        yield b"\x17\x03\x03\x00\x85\x98\n"


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"closed": ValueError("Read on closed or unwrapped SSL socket.")},
        {"cut": ProtocolError("cut")},
        {"status": 410},
        {"status": 500},
    ],
    ids=["closed", "closed within a read", "cut", "gone", "refused"],
)
def test_however_a_watch_ends_its_connection_is_closed_and_read_no_further(
    monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    """A recorder outlives many connections, and what was left open stayed a socket."""
    api: Any = None
    watch, names = Watch(Watches(api), PODS), list[str]()
    connection = Connection(watch, **how)
    monkeypatch.setattr(watch, "_get", lambda _query: connection)

    with suppress(ProtocolError, HistoryGoneError, StowageError):
        names.extend(change.name for change in watch.changes())

    assert connection.closed
    assert names == (["web"] if "status" not in how else [])
