"""The page over HTTP: on loopback only, and only for who knows the token.

Other programs of this machine reach the port, and so do pages that the viewer has open:
by a name that they have resolve to 127.0.0.1 (DNS rebinding), or by a form that they
send. The first lack the token; the others also have another ``Host`` or ``Origin``.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from stowage_testbed.errors import StowageError

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost")
TOKEN_BYTES = 32
POLL_S = 0.05
"""How soon the server notices that it has to end."""

IDLE_S = 30.0
"""How long a connection may block before it is given up."""

HEADERS = {
    "Cache-Control": "no-store",
    # What the page's own policy cannot say: no other page may show it as its own.
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
NOT_HERE = "There is nothing here. Open the whole address that stowage has printed.\n"


@dataclass(frozen=True, slots=True)
class Content:
    """What the server serves.

    Attributes
    ----------
    page
        HTML, with a policy of its own for what may run in it.
    messages
        Begins a stream of server-sent events.
    changes
        What may be done with a plan, by name; raises `StowageError` where that is
        refused.
    """

    page: str
    messages: Callable[[], Iterator[bytes]]
    changes: Mapping[str, Callable[[str], None]]


@contextmanager
def serving(content: Content, port: int = 0) -> Iterator[str]:
    """Serve while the block runs, and yield the page's address.

    Parameters
    ----------
    port
        Of 127.0.0.1; 0 for any that is free.

    Raises
    ------
    StowageError
        The port is in use.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        http = _Server(content, token, port)
    except OSError as error:
        raise StowageError(
            f"port {port} of {LOOPBACK} cannot be used: {error.strerror}; leave out "
            "--port, and a free one is taken"
        ) from error
    thread = threading.Thread(
        target=http.serve_forever, args=(POLL_S,), name="page", daemon=True
    )
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{http.server_port}/{token}/"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    """Streams end with the feed, or with this process."""

    def __init__(self, content: Content, token: str, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.content = content
        self._token = token.encode()
        self._hosts = [f"{name}:{self.server_port}" for name in NAMES]

    def parts_of(self, path: str, headers: Message) -> list[str] | None:
        """Return the parts of a path below the token; none without the right."""
        origin = headers.get("Origin")
        origins = (None, *(f"http://{host}" for host in self._hosts))
        if origin not in origins:
            return None
        if [headers.get("Host")] != headers.get_all("Host"):
            return None
        first, *parts = urlsplit(path).path.removeprefix("/").split("/")
        # All of it in the same time, whatever was wrong.
        right = hmac.compare_digest(first.encode(errors="replace"), self._token)
        if not (right and parts and headers.get("Host") in self._hosts):
            return None
        return [unquote(part) for part in parts if part]

    def handle_error(self, *_: object) -> None:
        """Stay silent: a browser that goes breaks its connection."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "stowage", ""
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    def do_GET(self) -> None:
        match self.server.parts_of(self.path, self.headers):
            case []:
                self._answer(HTTPStatus.OK, self.server.content.page, "text/html")
            case ["events"]:
                self._stream()
            case _:
                self._answer(HTTPStatus.NOT_FOUND, NOT_HERE)

    def do_POST(self) -> None:
        changes = self.server.content.changes
        match self.server.parts_of(self.path, self.headers):
            case ["plans", name, verb] if verb in changes:
                self._change(changes[verb], name)
            case _:
                self._answer(HTTPStatus.NOT_FOUND, NOT_HERE)

    def _change(self, change: Callable[[str], None], name: str) -> None:
        # A form of another page cannot set it without being asked for leave first.
        if self.headers.get("Content-Type") != "application/json":
            self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, NOT_HERE)
            return
        try:
            change(name)
        except StowageError as error:
            self._answer(HTTPStatus.CONFLICT, str(error))
        else:
            self._answer(HTTPStatus.OK, "")

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self._send_head(status, f"{kind}; charset=utf-8", length=len(body))
        self.wfile.write(body)

    def _stream(self) -> None:
        self._send_head(HTTPStatus.OK, "text/event-stream")
        for message in self.server.content.messages():
            self.wfile.write(message)

    def _send_head(
        self, status: HTTPStatus, kind: str, length: int | None = None
    ) -> None:
        self.send_response(status)
        size = {} if length is None else {"Content-Length": str(length)}
        for name, value in {"Content-Type": kind, **HEADERS, **size}.items():
            self.send_header(name, value)
        # What comes without a length ends with its connection.
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay silent: the path has the token in it."""
