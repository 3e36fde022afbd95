"""The server: read by who was given the address, and by nobody else."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest
from watch_server import WatchServer
from watch_server import serving as serving_api

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.live.server import Control, LiveServer, serving
from stowage_testbed.live.watching import LiveWatch


class RecordingPlans:
    """What was approved and given up."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []

    def approve(self, name: str) -> None:
        if name == "other":
            raise StowageError("plan other is Completed")
        self.done.append(("approve", name))

    def abort(self, name: str) -> None:
        self.done.append(("abort", name))


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        packed = self.headers["Content-Encoding"] == "gzip"
        return json.loads(gzip.decompress(self.body) if packed else self.body)


class Browser:
    """Asks as a browser does that was given an address."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host = f"{parts.hostname}:{parts.port}"
        self.path = parts.path

    @contextmanager
    def listening(
        self, path: str, method: str = "GET", **headers: str
    ) -> Iterator[HTTPResponse]:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        with closing(HTTPConnection(self.host, timeout=HANG_S)) as connection:
            connection.request(method, path, headers={"Host": self.host, **named})
            with connection.getresponse() as response:
                yield response

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        with self.listening(path, method, **headers) as response:
            return Answer(response.status, response.headers, response.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask(f"{self.path}{path}", **headers)

    def post(self, path: str, **headers: str) -> Answer:
        own = {"Origin": f"http://{self.host}"}
        return self.ask(f"{self.path}{path}", "POST", **{**own, **headers})

    def events(
        self, after: int, **headers: str
    ) -> AbstractContextManager[HTTPResponse]:
        return self.listening(f"{self.path}events?after={after}", **headers)


@pytest.fixture
def watch() -> Iterator[LiveWatch]:
    with serving_api(WatchServer()) as api:
        yield LiveWatch(api)


@pytest.fixture
def plans() -> RecordingPlans:
    return RecordingPlans()


@pytest.fixture
def browser(watch: LiveWatch, plans: RecordingPlans) -> Iterator[Browser]:
    control = Control(plans, lambda: True)
    with serving(LiveServer(watch, "c", control)) as address:
        yield Browser(address)


@pytest.fixture
def reader(watch: LiveWatch) -> Iterator[Browser]:
    with serving(LiveServer(watch, "c")) as address:
        yield Browser(address)


def test_the_address_leads_to_the_page(browser: Browser) -> None:
    """Whoever has it needs nothing else."""
    answer = browser.get("")

    text = answer.body.decode()
    assert answer.status == 200
    assert "<h1>c</h1>" in text
    assert "default-src &#39;none&#39;" in text
    assert "connect-src &#39;self&#39;" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


@pytest.mark.parametrize(
    "path", ["/", "/now", "/wrong/", "/wrong/now", "/wrong/events"]
)
def test_without_the_token_nothing_is_told(browser: Browser, path: str) -> None:
    """Every process and every page of the machine reaches the port."""
    answer = browser.ask(path)

    assert answer.status == 403
    assert b"nodes" not in answer.body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_another_name_for_this_machine_is_refused(browser: Browser, host: str) -> None:
    """A site may let its own name point here, and then its page is of our origin."""
    assert browser.get("now", Host=host).status == 403


def test_localhost_is_this_machine_too(browser: Browser) -> None:
    """People write it, and browsers show it."""
    port = browser.host.partition(":")[2]

    assert browser.get("now", Host=f"localhost:{port}").status == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}]
)
def test_pages_of_other_sites_are_refused(
    browser: Browser, headers: dict[str, str]
) -> None:
    """Even with the token, which may have leaked."""
    assert browser.get("now", **headers).status == 403


def test_an_address_without_its_last_stroke_leads_there(browser: Browser) -> None:
    """A terminal may cut it off when somebody clicks."""
    answer = browser.ask(browser.path.removesuffix("/"))

    assert answer.status == 307
    assert answer.headers["Location"] == browser.path


def test_a_link_to_the_page_may_stand_anywhere(browser: Browser) -> None:
    """A terminal in a browser is another site; what it opens it cannot read."""
    assert browser.get("", Sec_Fetch_Site="cross-site").status == 200


def test_every_answer_forbids_frames_and_keeping(browser: Browser) -> None:
    """Nor may the token go out as a referrer."""
    for path in ("", "now", "nothing"):
        headers = browser.get(path).headers
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_what_is_now_comes_packed(browser: Browser) -> None:
    """Fifty thousand pods are five megabytes, and a tenth of that packed."""
    answer = browser.get("now")

    now = answer.json()
    assert now["nodeNames"] == []
    assert now["entries"] == [0, 0]


def test_messages_arrive_as_they_come(browser: Browser, watch: LiveWatch) -> None:
    """A page that asks again and again would be late."""
    watch.messages.put(1, b'{"seq":1}')

    with browser.events(0) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        assert _next_message(stream) == (1, {"seq": 1})
        watch.messages.put(2, b'{"seq":2}')
        assert _next_message(stream) == (2, {"seq": 2})


def test_a_browser_that_comes_back_gets_what_it_missed(
    browser: Browser, watch: LiveWatch
) -> None:
    """It says itself what it has, after a cut."""
    for sequence in (1, 2, 3):
        watch.messages.put(sequence, b'{"seq":%d}' % sequence)

    with browser.events(0, Last_Event_ID="2") as stream:
        assert _next_message(stream) == (3, {"seq": 3})


def test_a_browser_that_missed_too_much_begins_anew(
    browser: Browser, watch: LiveWatch
) -> None:
    """Else it would show a state that never was."""
    for sequence in range(1, 2000):
        watch.messages.put(sequence, b"{}")

    assert b"event: again" in browser.get("events?after=5").body


@pytest.mark.parametrize("path", ["events", "events?after=x", "past?nodes=1"])
def test_a_request_that_says_too_little_is_refused(browser: Browser, path: str) -> None:
    """It says what is missing."""
    answer = browser.get(path)

    assert answer.status == 400
    assert "number" in answer.json()["said"]


def test_the_page_is_read_only_unless_it_was_asked_for(
    reader: Browser, plans: RecordingPlans
) -> None:
    """Whoever looks on must not fear to press a button."""
    rights = reader.get("rights").json()

    assert rights == {"change": False, "why": "the page is read-only"}
    assert reader.post("plans/one/approve").status == 403
    assert plans.done == []


def test_plans_are_approved_and_aborted_by_name(
    browser: Browser, plans: RecordingPlans
) -> None:
    """As the command line does it."""
    assert browser.post("plans/one/approve").status == 200
    assert browser.post("plans/two/abort").status == 200
    assert browser.post("plans/two/delete").status == 404

    assert plans.done == [("approve", "one"), ("abort", "two")]


def test_what_the_cluster_refuses_is_told(browser: Browser) -> None:
    """In its own words."""
    answer = browser.post("plans/other/approve")

    assert answer.status == 409
    assert answer.json() == {"said": "plan other is Completed"}


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {}),
        ("POST", {"Origin": "https://evil.example"}),
        ("POST", {"Origin": "null"}),
        ("GET", {}),
    ],
)
def test_only_the_page_itself_changes_plans(
    browser: Browser, plans: RecordingPlans, method: str, headers: dict[str, str]
) -> None:
    """A form or a link on another page must not be able to."""
    answer = browser.ask(f"{browser.path}plans/one/approve", method, **headers)

    assert answer.status in {403, 405}
    assert plans.done == []


def test_what_the_viewer_may_do_is_asked_of_the_cluster(watch: LiveWatch) -> None:
    """A button that can only fail is not shown."""
    control = Control(RecordingPlans(), lambda: False)
    with serving(LiveServer(watch, "c", control)) as address:
        rights = Browser(address).get("rights").json()

    assert rights == {
        "change": False,
        "why": "you may not change plans in this cluster",
    }


def test_a_port_that_is_taken_is_named(watch: LiveWatch, browser: Browser) -> None:
    """And another one is suggested."""
    taken = int(browser.host.partition(":")[2])

    with (
        pytest.raises(InputError, match=f"port {taken} cannot be had"),
        serving(LiveServer(watch, "c"), taken),
    ):
        pass


def test_the_server_ends_while_browsers_listen(watch: LiveWatch) -> None:
    """Ctrl-C must not wait for a page that somebody forgot."""
    with ExitStack() as stack:
        address = stack.enter_context(serving(LiveServer(watch, "c")))
        with Browser(address).events(0) as stream:
            stack.close()
            assert stream.read() == b"retry: 1000\n\n"


def _next_message(stream: HTTPResponse) -> tuple[int, Any]:
    number = None
    while True:
        line = stream.readline().decode().strip()
        if line.startswith("id:"):
            number = int(line[3:])
        if line.startswith("data:") and number is not None:
            return number, json.loads(line[5:])
