"""The server of the page: on the loopback, for as long as somebody watches."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.live.document import live_page, saved_page
from stowage_testbed.live.guard import Guard, new_token
from stowage_testbed.live.watching import LiveWatch

LOOPBACK = "127.0.0.1"
ALIVE_S = 15.0
"""Something is said at least so often, so that a lost connection shows."""

STOP_S = 2
_START_S = 10.0
_FAST = 1
"""Level of gzip: the way is short."""


class PlanControl(Protocol):
    """What approves and aborts plans."""

    def approve(self, name: str) -> None:
        """Have a proposed plan carried out."""

    def abort(self, name: str) -> None:
        """Give a plan up."""


@dataclass(frozen=True, slots=True)
class Control:
    """Plans that may be changed from the page.

    Attributes
    ----------
    plans
        What changes them.
    allowed
        Whether the viewer has the right to, as the cluster answers now.
    """

    plans: PlanControl
    allowed: Callable[[], bool]


class LiveServer:
    """Answers browsers from one watch.

    Parameters
    ----------
    watch
        Of the cluster; begun already.
    cluster
        What the page calls it.
    control
        Of plans; without it the page only shows them.
    """

    def __init__(self, watch: LiveWatch, cluster: str, control: Control | None = None) -> None:
        self._watch = watch
        self._cluster = cluster
        self._control = control
        self.stopping = threading.Event()

    def app(self) -> Starlette:
        """Return what answers requests, at paths without the token."""
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/now", self._now),
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

    def wake(self) -> None:
        """Have those who listen see that the server ends."""
        self._watch.messages.wake()

    def _page(self, _request: Request) -> Response:
        return HTMLResponse(live_page(self._cluster))

    def _now(self, _request: Request) -> Response:
        return _packed(self._watch.now())

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

        def tell() -> None:
            loop.call_soon_threadsafe(there.set)

        messages = self._watch.messages
        messages.listen(tell)
        try:
            yield b"retry: 1000\n\n"
            while not self.stopping.is_set():
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
        finally:
            messages.leave(tell)

    def _rights(self, _request: Request) -> Response:
        if self._control is None:
            return _packed({"change": False, "why": "the page is read-only"})
        try:
            allowed = self._control.allowed()
        except StowageError as error:
            return _packed({"change": False, "why": str(error)})
        why = "" if allowed else "you may not change plans in this cluster"
        return _packed({"change": allowed, "why": why})

    def _change(self, request: Request) -> Response:
        if self._control is None:
            return _said("the page is read-only", HTTPStatus.FORBIDDEN)
        name, what = request.path_params["name"], request.path_params["what"]
        do = {"approve": self._control.plans.approve, "abort": self._control.plans.abort}
        if what not in do:
            return _said("a plan is approved or aborted", HTTPStatus.NOT_FOUND)
        try:
            # The cluster itself judges the right to; it is asked with it.
            do[what](name)
        except StowageError as error:
            return _said(str(error), HTTPStatus.CONFLICT)
        return _said("done", HTTPStatus.OK)


@contextmanager
def serving(server: LiveServer, port: int = 0) -> Iterator[str]:
    """Serve on the loopback for the block, and yield the address with its token.

    Raises
    ------
    InputError
        The port is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
        except OSError as error:
            raise InputError(
                f"port {port} cannot be had: {error.strerror}; name another with --port, or none"
            ) from error
        chosen: int = listening.getsockname()[1]
        token = new_token()
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
            server.stopping.set()
            running.should_exit = True
            server.wake()
            thread.join()


def _packed(answer: dict[str, Any]) -> Response:
    return Response(
        gzip.compress(msgspec.json.encode(answer), _FAST),
        media_type="application/json",
        headers={"Content-Encoding": "gzip"},
    )


def _said(text: str, status: int) -> Response:
    return Response(msgspec.json.encode({"said": text}), status, media_type="application/json")
