"""The server and its watch: read by who was given the address, and by nobody else."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from made_clusters import MadeCluster, watched
from urllib3 import BaseHTTPResponse, PoolManager
from watch_server import WatchServer
from watch_server import serving as serving_api

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.live.server import Control, LiveServer, serving
from stowage_testbed.live.watching import LiveWatch

Done = list[tuple[str, str]]
"""What was approved and given up."""


def noting(done: Done, *, allowed: bool = True) -> Control:

    def note(what: str, name: str) -> None:
        if name == "other":
            raise StowageError("plan other is Completed")
        done.append((what, name))

    return Control({what: partial(note, what) for what in ("approve", "abort")}, lambda: allowed)


class Browser:
    """Asks as a browser does that was given an address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.host, self.path = urlsplit(address)[1:3]

    @contextmanager
    def listening(self, path: str, method: str = "GET", **headers: str) -> Iterator[BaseHTTPResponse]:
        """Ask for a path below that of the address, or for a whole one."""
        named = {"Host": self.host} | {key.replace("_", "-"): value for key, value in headers.items()}
        url = urljoin(self.address, path)
        with PoolManager(retries=False, timeout=HANG_S) as pool:
            yield pool.request(method, url, headers=named, redirect=False, preload_content=False)

    def ask(self, path: str, method: str = "GET", **headers: str) -> BaseHTTPResponse:
        with self.listening(path, method, **headers) as response:
            # It keeps what was read once.
            assert response.data is not None
            return response

    def post(self, path: str) -> BaseHTTPResponse:
        return self.ask(path, "POST", Origin=f"http://{self.host}")


@pytest.fixture
def watch() -> Iterator[LiveWatch]:
    with serving_api(WatchServer()) as api:
        yield LiveWatch(api)


@pytest.fixture
def done() -> Done:
    return []


@pytest.fixture
def browser(watch: LiveWatch, done: Done) -> Iterator[Browser]:
    with serving(LiveServer(watch, "c", noting(done))) as address:
        yield Browser(address)


def test_the_address_leads_to_the_page_and_what_is_now(browser: Browser) -> None:
    """Whoever has it needs nothing else; fifty thousand pods are a megabyte packed."""
    answer = browser.ask("")

    text = answer.data.decode()
    assert answer.status == 200
    assert "<h1>c</h1>" in text
    assert "default-src &#39;none&#39;" in text
    assert "connect-src &#39;self&#39;" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    now = browser.ask("now").json()
    assert (now["nodeNames"], now["entries"]) == ([], [0, 0])
    # Nobody may frame or keep it, nor may the token go out as a referrer.
    for path in ("", "now", "nothing"):
        headers = browser.ask(path).headers
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
    # A terminal may cut the last stroke off when somebody clicks.
    cut = browser.ask(browser.path.removesuffix("/"))
    assert (cut.status, cut.headers["Location"]) == (307, browser.path)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        # Every process and every page of the machine reaches the port.
        ("/", {}, 403),
        ("/now", {}, 403),
        ("/wrong/", {}, 403),
        ("/wrong/now", {}, 403),
        ("/wrong/events", {}, 403),
        # A site may let its own name point here, and then its page is of our origin.
        ("OURS/now", {"Host": "evil.example"}, 403),
        ("OURS/now", {"Host": "evil.example:80"}, 403),
        ("OURS/now", {"Host": "127.0.0.1"}, 403),
        ("OURS/now", {"Host": ""}, 403),
        ("OURS/now", {"Host": "localhost:PORT"}, 200),
        # Pages of other sites, even with the token; but a link may stand anywhere.
        ("OURS/now", {"Origin": "https://evil.example"}, 403),
        ("OURS/now", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("OURS/", {"Sec_Fetch_Site": "cross-site"}, 200),
        # Who asks for a part says for which.
        ("OURS/events", {}, 400),
        ("OURS/events?after=x", {}, 400),
        ("OURS/past?nodes=1", {}, 400),
    ],
)
def test_only_who_was_given_the_address_is_told_anything(
    browser: Browser, path: str, headers: dict[str, str], status: int
) -> None:
    """The token may have leaked, and names of machines can be made up."""
    port = browser.host.partition(":")[2]
    sent = {key: value.replace("PORT", port) for key, value in headers.items()}
    answer = browser.ask(path.replace("OURS/", ""), **sent)
    assert answer.status == status
    assert status != 403 or b"nodes" not in answer.data
    assert status != 400 or "number" in answer.json()["said"]


def test_messages_arrive_as_they_come(browser: Browser, watch: LiveWatch) -> None:
    """A page that asks again would be late; after a cut it says what it has."""
    watch.messages.put(1, b'{"seq":1}')

    with browser.listening("events?after=0") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        assert _next_message(stream) == (1, {"seq": 1})
        watch.messages.put(2, b'{"seq":2}')
        assert _next_message(stream) == (2, {"seq": 2})
    watch.messages.put(3, b'{"seq":3}')
    with browser.listening("events?after=0", Last_Event_ID="2") as stream:
        assert _next_message(stream) == (3, {"seq": 3})
    # One that missed too much begins anew, or it would show a state that never was.
    for sequence in range(4, 2000):
        watch.messages.put(sequence, b"{}")
    assert b"event: again" in browser.ask("events?after=5").data


def test_the_page_is_read_only_unless_it_was_asked_for_and_the_cluster_agrees(watch: LiveWatch) -> None:
    """Whoever looks on must not fear to press a button, nor see one that only fails."""
    refused = "you may not change plans in this cluster"
    for control, why in ((None, "the page is read-only"), (noting([], allowed=False), refused)):
        with serving(LiveServer(watch, "c", control)) as address:
            reader = Browser(address)
            assert reader.ask("rights").json() == {"change": False, "why": why}
            if control is None:
                assert reader.post("plans/one/approve").status == 403


def test_plans_are_changed_by_name_and_by_the_page_alone(browser: Browser, done: Done) -> None:
    """Refusals are told in the cluster's words; no form or link elsewhere may."""
    for method, headers in (
        ("POST", {}),
        ("POST", {"Origin": "https://evil.example"}),
        ("POST", {"Origin": "null"}),
        ("GET", {}),
    ):
        answer = browser.ask("plans/one/approve", method, **headers)
        assert answer.status in {403, 405}
    assert done == []
    assert browser.post("plans/one/approve").status == 200
    assert browser.post("plans/two/abort").status == 200
    assert browser.post("plans/two/delete").status == 404
    refused = browser.post("plans/other/approve")
    why = {"said": "plan other is Completed"}
    assert (refused.status, refused.json()) == (409, why)
    assert done == [("approve", "one"), ("abort", "two")]


def test_a_port_that_is_taken_is_named_and_browsers_that_listen_hold_none(watch: LiveWatch) -> None:
    """Ctrl-C must not wait for a page that somebody forgot."""
    with ExitStack() as stack:
        address = stack.enter_context(serving(LiveServer(watch, "c")))
        taken = urlsplit(address).port
        assert taken is not None
        with pytest.raises(InputError, match=f"port {taken} cannot be had"):
            stack.enter_context(serving(LiveServer(watch, "c"), taken))
        with Browser(address).listening("events?after=0") as stream:
            stack.close()
            assert stream.read() == b"retry: 1000\n\n"


def _next_message(stream: BaseHTTPResponse) -> tuple[int, Any]:
    number = None
    while True:
        line = stream.readline().decode().strip()
        if line.startswith("id:"):
            number = int(line[3:])
        if line.startswith("data:") and number is not None:
            return number, json.loads(line[5:])


def until(watch: LiveWatch, what: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    wait_until(f"the watch {what}", watch.now, holds)


def test_interruptions_and_plans_of_a_later_chart_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page must not show a cluster at rest that is only out of sight.

    Nor does anybody think of opening it anew when there is something new to see.
    """
    monkeypatch.setattr("stowage_testbed.live.watching.LOOK_S", 0.0)
    cluster = MadeCluster(20, 100)
    with watched(cluster) as watch:
        began = watch.now()
        assert began["plans"] == []
        cluster.away = True
        until(watch, "to be lost", lambda now: "Pod:" in now["lost"])
        cluster.away = False
        until(watch, "to be back", lambda now: not now["lost"])
        cluster.plan = "first"
        until(watch, "to have a plan", lambda now: bool(now["plans"]))

        (plan,) = watch.now()["plans"]
        assert plan[0] == "first"
        watch.stop()
        messages = watch.messages.after(began["seq"])
        assert messages
        assert messages[-1][0] == watch.now()["seq"]
