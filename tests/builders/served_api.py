"""A handler of HTTP requests served on the loopback interface, and a client of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kubernetes import client


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
