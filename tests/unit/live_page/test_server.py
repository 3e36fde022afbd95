"""The page is for one person on one machine: everybody else finds nothing."""

from __future__ import annotations

import html
import http.client
import json
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

import psutil
import pytest

from stowage_testbed.errors import StowageError
from stowage_testbed.live_page.page import page_of
from stowage_testbed.live_page.server import Content, serving

JSON = {"Content_Type": "application/json"}


class Client:
    """Sends requests to a page's server."""

    def __init__(self, address: str, changed: list[str]) -> None:
        parts = urlsplit(address)
        assert parts.hostname
        assert parts.port
        self.host, self.port, self.root = parts.hostname, parts.port, parts.path
        self.changed = changed

    def ask(
        self, path: str = "", method: str = "GET", **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        target = path if path.startswith("/") else self.root + path
        connection.request(method, target, headers=named)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode(), dict(answer.headers)
        finally:
            connection.close()


@pytest.fixture
def client() -> Iterator[Client]:
    changed: list[str] = []

    def approve(name: str) -> None:
        if name == "gone":
            raise StowageError("plan gone is Failed")
        changed.append(name)

    content = Content(
        page_of("c"),
        lambda: iter([b"data: 1\n\n", b"data: 2\n\n"]),
        {"approve": approve},
    )
    with serving(content) as address:
        yield Client(address, changed)


def test_the_address_that_was_printed_shows_the_page(client: Client) -> None:
    """With what keeps it to itself."""
    status, text, headers = client.ask()

    assert status == HTTPStatus.OK
    assert "<title>c: live</title>" in text
    policy = html.unescape(text)
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_two_pages_have_two_tokens() -> None:
    """What was seen once is of no use later."""
    content = Content("", lambda: iter(()), {})
    with serving(content) as one, serving(content) as other:
        tokens = {urlsplit(address).path for address in (one, other)}

    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 43


@pytest.mark.parametrize("path", ["/", "/x/", "/events", "/x/events", "/favicon.ico"])
def test_without_the_token_nothing_is_there(client: Client, path: str) -> None:
    """Other users of the machine reach the port, too."""
    status, text, _ = client.ask(path)

    assert status == HTTPStatus.NOT_FOUND
    assert "whole address" in text


def test_part_of_the_token_is_not_enough(client: Client) -> None:
    """Nor the token and more."""
    for path in (client.root[:-2] + "/", client.root[:-1] + "x/", client.root[:-1]):
        assert client.ask(path)[0] == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", ""]
)
def test_a_name_that_resolves_to_this_machine_is_refused(
    client: Client, host: str
) -> None:
    """So a page elsewhere cannot read this one by DNS rebinding."""
    status, _, _ = client.ask(Host=host.format(port=client.port))

    assert status == HTTPStatus.NOT_FOUND


def test_localhost_is_this_machine(client: Client) -> None:
    """People write it in place of the number."""
    assert client.ask(Host=f"localhost:{client.port}")[0] == HTTPStatus.OK


def test_nothing_listens_but_loopback(client: Client) -> None:
    """Whatever addresses the machine has."""
    listening = [
        socket.laddr.ip
        for socket in psutil.Process().net_connections(kind="inet")
        if socket.status == psutil.CONN_LISTEN and socket.laddr.port == client.port
    ]

    assert listening == ["127.0.0.1"]


def test_the_stream_is_one_of_events(client: Client) -> None:
    """Browsers reconnect to those by themselves."""
    status, text, headers = client.ask("events")

    assert status == HTTPStatus.OK
    assert headers["Content-Type"] == "text/event-stream"
    assert text == "data: 1\n\ndata: 2\n\n"


def test_a_plan_is_approved_by_its_name(client: Client) -> None:
    """And a refusal says why."""
    assert client.ask("plans/a%2Db/approve", "POST", **JSON)[0] == HTTPStatus.OK
    status, text, _ = client.ask("plans/gone/approve", "POST", **JSON)

    assert client.changed == ["a-b"]
    assert (status, text) == (HTTPStatus.CONFLICT, "plan gone is Failed")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        ({"Content_Type": "text/plain"}, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        ({**JSON, "Origin": "http://evil.example"}, HTTPStatus.NOT_FOUND),
        ({**JSON, "Origin": "null"}, HTTPStatus.NOT_FOUND),
    ],
)
def test_a_form_of_another_page_changes_nothing(
    client: Client, headers: dict[str, str], status: HTTPStatus
) -> None:
    """Even one that knows the token."""
    assert client.ask("plans/p/approve", "POST", **headers)[0] == status
    assert client.changed == []


def test_what_was_not_allowed_is_not_there(client: Client) -> None:
    """A page that only reads has nothing to send changes to."""
    assert client.ask("plans/p/abort", "POST", **JSON)[0] == HTTPStatus.NOT_FOUND
    assert client.ask("plans/p/approve")[0] == HTTPStatus.NOT_FOUND


def test_a_port_in_use_is_named() -> None:
    """With the way out."""
    content = Content("", lambda: iter(()), {})
    with serving(content) as address:
        port = urlsplit(address).port
        assert port
        with (
            pytest.raises(StowageError, match="leave out --port"),
            serving(content, port),
        ):
            pass


def test_names_from_outside_stay_text() -> None:
    """A context may be called anything."""
    page = page_of("</title><script>1</script>")

    assert "<script>1" not in page
    assert json.dumps("&lt;/title&gt;")[1:-1] in page
