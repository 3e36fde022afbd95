"""A handler of requests on the loopback interface, and a tiny API server for watches.

It has one list, and scripted watch lines.
"""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes import client

END = None
"""Queue item that ends the current watch connection in order."""


class WatchServer:
    """What the server answers: `items` to a list, queued events to watches.

    Attributes
    ----------
    pages
        How many objects each answer to a list had.
    forgets_lists
        It no longer knows how a list that was begun goes on.
    """

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.list_status = 200
        self.pages: list[int] = []
        self.forgets_lists = False
        self.hangs_up = 0
        self.watched_from: queue.Queue[str] = queue.Queue()

    def send(self, verb: str, body: dict[str, Any]) -> None:
        """Queue one event for the watch."""
        self.events.put({"type": verb, "object": body})

    def hang_up(self, times: int = 3) -> None:
        """Cut the current watch and answer the next requests with nothing at all."""
        self.hangs_up = times
        self.end_connection()

    def end_connection(self) -> None:
        """End the current watch, as servers do every half hour."""
        self.events.put(END)


@contextmanager
def serving(server: WatchServer) -> Iterator[client.ApiClient]:
    """Run the server and yield a client of it."""
    with served_api(_handler_of(server)) as api:
        try:
            yield api
        finally:
            server.end_connection()


def a_pod(name: str, *, node: str = "", version: str = "1") -> dict[str, Any]:
    """Return a pod as the API gives it."""
    return {
        "metadata": {
            "uid": f"uid-{name}",
            "namespace": "ns",
            "name": name,
            "resourceVersion": version,
            "managedFields": [{"manager": "nobody reads this"}],
        },
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": "Pending"},
    }


def _handler_of(server: WatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if server.hangs_up:
                server.hangs_up -= 1
                self.close_connection = True
                return
            if "watch=true" in self.path:
                self._watch()
            else:
                self._list()

        def _list(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            begin = int(query.get("continue", ["0"])[0])
            end = begin + int(query.get("limit", [len(server.items)])[0])
            status = 410 if begin and server.forgets_lists else server.list_status
            metadata = {"resourceVersion": "1"}
            if end < len(server.items):
                metadata["continue"] = str(end)
            items = server.items[begin:end]
            server.pages.append(len(items))
            text = json.dumps({"metadata": metadata, "items": items}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _watch(self) -> None:
            server.watched_from.put(self.path.split("resourceVersion=")[1].split("&")[0])
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while (event := server.events.get()) is not END:
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler


@contextmanager
def served_api(handler: type[BaseHTTPRequestHandler]) -> Iterator[client.ApiClient]:
    """Serve for the block, and yield a client.

    Requests that are still being answered at the end, such as watches, must be ended
    before: the threads that answer them are left alone.
    """
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    configuration = client.Configuration(host=f"http://127.0.0.1:{http.server_port}")
    try:
        with client.ApiClient(configuration) as api:
            yield api
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
