"""Who may ask: a browser on this machine that was given the address, and nobody else.

The server listens on the loopback only, where every process of the machine and every
page in a browser can reach it. A page of another site reaches it by a name of its own
that it lets point to 127.0.0.1; so the names by which it is asked are checked, and the
token in the path, which no other page can know.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def new_token() -> str:
    """Return what nobody guesses."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets only requests through that the owner of the address can have made.

    Parameters
    ----------
    app
        What answers them, at paths without the token.
    token
        The first part of every path.
    port
        Where the server listens.
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
        why = self._refusal(scope["method"], headers, token)
        if not why and rest:
            why = _refuse_other_sites(headers)

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

    def _refusal(self, method: str, headers: Headers, token: str) -> str:
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
        return ""


def _refuse_other_sites(headers: Headers) -> str:
    """Return why another site gets nothing of the page but a link to it."""
    site = headers.get("sec-fetch-site", "none")
    return "" if site in {"none", "same-origin"} else NOT_FOR_OTHERS
