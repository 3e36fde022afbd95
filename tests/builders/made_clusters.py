"""A made cluster in which pods come and go, and the live page of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from kubernetes import client

from benchmarks.live_page.made_cluster import Handler, MadeCluster
from stowage_testbed.live.server import LiveServer, serving
from stowage_testbed.live.watching import LiveWatch


@contextmanager
def made_cluster(
    nodes: int, pods: int, events_per_s: float = 200.0
) -> Iterator[client.ApiClient]:
    """Serve a cluster for the block, and yield a client of it."""

    class Made(Handler):
        cluster = MadeCluster(nodes, pods, events_per_s)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Made)
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


@contextmanager
def page_of(nodes: int, pods: int) -> Iterator[str]:
    """Watch a made cluster for the block, and yield the address of its page."""
    with made_cluster(nodes, pods) as api:
        watch = LiveWatch(api)
        watch.begin()
        try:
            with serving(LiveServer(watch, "made")) as address:
                yield address
        finally:
            watch.stop()
