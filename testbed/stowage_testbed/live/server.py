"""The page and its server: on the loopback, for as long as somebody watches, and for whom the address was given."""

import asyncio
import gzip
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.live.watching import LiveWatch
from stowage_testbed.page.offline import BARS, offline_page

LOOPBACK = "127.0.0.1"
ALIVE_S = 15.0  # Something is said at least so often, so that a lost connection shows
STOP_S = 2
_START_S = 10.0
_FAST = 1  # Level of gzip: the way is short
SCRIPTS = (*BARS, "world.js", "source.js", "places.js", "picture.js", "waiting.js", "plans.js", "page.js")

SAFE = frozenset({"GET", "HEAD"})
NAMES = ("127.0.0.1", "localhost")

NOT_FOR_OTHERS = "this page is not for other sites"

HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every answer; what a page may load is in the page itself."""


@dataclass(frozen=True, slots=True)
class Control:
    """What can be done to a plan of a name, and whether the viewer has the right to, as the cluster answers now."""

    actions: Mapping[str, Callable[[str], object]]
    allowed: Callable[[], bool]


class LiveServer:
    """Answers browsers from one watch, which has begun; without ``control`` of plans the page only shows them."""

    def __init__(self, watch: LiveWatch, cluster: str, control: Control | None = None) -> None:
        self._watch = watch
        self._cluster = cluster
        self._control = control
        self._stopping = threading.Event()

    def app(self) -> Starlette:
        """Return what answers requests, at paths without the token."""
        return Starlette(
            routes=[
                Route("/", lambda _: HTMLResponse(_make_page(self._cluster))),
                Route("/now", lambda _: _packed(self._watch.now())),
                Route("/past", self._past),
                Route("/events", self._events),
                Route("/save", self._save),
                Route("/rights", self._rights),
                Route("/plans/{name}/{what}", self._change, methods=["POST"]),
            ]
        )

    def saved(self) -> str:
        """Return the page with all that was seen."""
        return saved_page(self._cluster, self._watch.both())

    def stop(self) -> None:
        """Have those who listen see that the server ends."""
        self._stopping.set()
        self._watch.messages.wake()

    def _past(self, request: Request) -> Response:
        try:
            nodes, pods = (int(request.query_params[one]) for one in ("nodes", "pods"))
        except (KeyError, ValueError):
            return _said("nodes and pods are the numbers of changes", 400)
        return _packed(self._watch.past((nodes, pods)))

    def _save(self, _request: Request) -> Response:
        return HTMLResponse(self.saved(), headers={"Content-Disposition": 'attachment; filename="stowage.html"'})

    async def _events(self, request: Request) -> Response:
        # A browser that comes back after a cut says itself what it has.
        said = request.headers.get("last-event-id") or request.query_params.get("after")
        try:
            after = int(said or "")
        except ValueError:
            return _said("after is the number of a message", 400)
        return StreamingResponse(self._stream(after), media_type="text/event-stream")

    async def _stream(self, after: int) -> AsyncIterator[bytes]:
        loop, there = asyncio.get_running_loop(), asyncio.Event()
        messages = self._watch.messages
        with messages.telling(lambda: loop.call_soon_threadsafe(there.set)):
            yield b"retry: 1000\n\n"
            while not self._stopping.is_set():
                there.clear()
                new = messages.after(after)
                if new is None:
                    yield b"event: again\ndata: {}\n\n"
                    return
                for sequence, message in new:
                    yield b"id: %d\ndata: %b\n\n" % (sequence, message)
                    after = sequence
                if not new:
                    try:
                        await asyncio.wait_for(there.wait(), ALIVE_S)
                    except TimeoutError:
                        yield b": alive\n\n"

    def _rights(self, _request: Request) -> Response:
        why = "the page is read-only"
        if self._control is not None:
            try:
                why = "" if self._control.allowed() else "you may not change plans in this cluster"
            except StowageError as error:
                why = str(error)
        return _packed({"change": not why, "why": why})

    def _change(self, request: Request) -> Response:
        if self._control is None:
            return _said("the page is read-only", HTTPStatus.FORBIDDEN)
        name, what = request.path_params["name"], request.path_params["what"]
        action = self._control.actions.get(what)
        if action is None:
            return _said("a plan is approved or aborted", HTTPStatus.NOT_FOUND)
        try:
            # The cluster itself judges the right to; it is asked with it.
            action(name)
        except StowageError as error:
            return _said(str(error), HTTPStatus.CONFLICT)
        return _said("done", HTTPStatus.OK)


class Guard:
    """Lets only requests through that the owner of the address can have made.

    The server listens on the loopback only, where every process of the machine and every page in a browser can reach
    it. A page of another site reaches it by a name of its own that it lets point to 127.0.0.1; so the names by which it
    is asked are checked, and the token, the first part of every path, which no other page can know.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        token, slash, rest = str(scope["path"]).removeprefix("/").partition("/")
        headers = Headers(scope=scope)
        why = self._refusal(scope["method"], headers, token, rest)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if why:
            refused = PlainTextResponse(f"{why}\n", HTTPStatus.FORBIDDEN)
            await refused(scope, receive, send_guarded)
            return
        if not slash:
            # The page asks for the rest by relative paths.
            await RedirectResponse(f"/{token}/")(scope, receive, send_guarded)
            return
        within = {**scope, "path": f"/{rest}", "raw_path": None, "root_path": ""}
        await self._app(within, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers, token: str, path: str) -> str:
        """Return why a request is not answered; empty if it is."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return "this page answers to 127.0.0.1 and localhost only"
        origin = headers.get("origin")
        if origin is None and method not in SAFE:
            return "a request without an origin changes nothing here"
        if origin is not None and origin != f"http://{host}":
            return NOT_FOR_OTHERS
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return "use the whole address that stowage printed: it holds a token"
        # Another site gets nothing of the page but a link to it.
        foreign = headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
        return NOT_FOR_OTHERS if path and foreign else ""


@contextmanager
def serving(server: LiveServer, port: int = 0) -> Iterator[str]:
    """Serve on the loopback for the block, and yield the address with its token; an InputError if the port is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
        except OSError as error:
            raise InputError(
                f"port {port} cannot be had: {error.strerror}; name another with --port, or none"
            ) from error
        chosen: int = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            Guard(server.app(), token, chosen),
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=STOP_S,
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, args=([listening],), name="live-page", daemon=True)
        thread.start()
        try:
            wait_until("the page's server", lambda: running.started, bool, timeout_s=_START_S)
            yield f"http://{LOOPBACK}:{chosen}/{token}/"
        finally:
            running.should_exit = True
            server.stop()
            thread.join()


def saved_page(cluster: str, seen: dict[str, Any]) -> str:
    """Return a page that holds all it shows."""
    return _make_page(cluster, msgspec.json.decode(msgspec.json.encode(seen, enc_hook=dict)), saved=True)


def _make_page(cluster: str, data: object = None, *, saved: bool = False) -> str:
    return offline_page(
        "live", scripts=SCRIPTS, data=data, images=True, connects=not saved, cluster=cluster, saved=saved
    )


def _packed(answer: dict[str, Any]) -> Response:
    return Response(
        gzip.compress(msgspec.json.encode(answer, enc_hook=dict), _FAST),
        media_type="application/json",
        headers={"Content-Encoding": "gzip"},
    )


def _said(text: str, status: int) -> Response:
    return Response(msgspec.json.encode({"said": text}), status, media_type="application/json")
