"""An API server with made nodes, and pods that come and go, and the live page of it.

Real clusters of that size take an hour to fill.
"""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from watch_server import served_api

from stowage_testbed.base.wait import SystemClock
from stowage_testbed.live.server import LiveServer, serving
from stowage_testbed.live.watching import LiveWatch

WORKLOADS, NAMESPACES = 400, 20
WAITING = 0.02
"""Share of the pods that have no node."""
SIZES = (("250m", "512Mi"), ("500m", "2Gi"), ("1", "1Gi"), ("2", "8Gi"))
PAUSE_S = 0.005
"""Between two changes of pods."""


class MadeCluster:
    """Nodes, pods, and what happens to them.

    Attributes
    ----------
    away
        It ends its watches, and answers nobody.
    plan
        The name of a plan of the chart, which was installed meanwhile.
    """

    def __init__(self, nodes: int, pods: int) -> None:
        self.away = False
        self.plan = ""
        self._draw = random.Random(1)  # noqa: S311 - no secret
        self._numbers = count(1)
        self._nodes = [f"node-{number:05}" for number in range(nodes)]
        self._pods = [self._new_pod() for _ in range(pods)]
        self._first = [*self._pods]

    def items(self, plural: str) -> list[dict[str, Any]]:
        """Return what a list of a resource shows."""
        if plural == "nodes":
            ready = {"type": "Ready", "status": "True"}
            status = {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "conditions": [ready]}
            return [{"metadata": {"name": name, "uid": name}, "spec": {}, "status": status} for name in self._nodes]
        plans = [{"metadata": {"name": self.plan, "uid": "plan"}}] if self.plan else []
        return {"pods": self._first, "packingplans": plans}.get(plural, [])

    def groups(self, path: str) -> list[dict[str, Any]]:
        """Return what the server has below ``/api`` or ``/apis``."""
        if path == "/api":
            return [_group("", "v1", nodes="Node", pods="Pod")]
        return [_group("stowage.dev", "v1alpha1", packingplans="PackingPlan")] if self.plan else []

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield changes at their rate: one pod goes, another comes, and is given a node."""
        clock, versions = SystemClock(), count(2)
        due = clock.now()
        while True:
            at = self._draw.randrange(len(self._pods))
            gone, self._pods[at] = self._pods[at], self._new_pod()
            came = self._pods[at]
            waiting = {**came, "spec": {**came["spec"], "nodeName": None}}
            for verb, pod in (("DELETED", gone), ("ADDED", waiting), ("MODIFIED", came)):
                due += PAUSE_S
                clock.pause(max(0.0, due - clock.now()))
                if self.away:
                    return
                metadata = {**pod["metadata"], "resourceVersion": str(next(versions))}
                yield {"type": verb, "object": {**pod, "metadata": metadata}}

    def _new_pod(self) -> dict[str, Any]:
        number, workload = next(self._numbers), self._draw.randrange(WORKLOADS)
        waits = self._draw.random() < WAITING
        said = f"0/{len(self._nodes)} nodes are available: {len(self._nodes)} Insufficient cpu."
        condition = {"type": "PodScheduled", "status": "False", "message": said}
        owner = {"kind": "ReplicaSet", "name": f"service-{workload:03}-5d4f8c7b9d", "controller": True}
        requests = dict(zip(("cpu", "memory"), SIZES[workload % len(SIZES)], strict=True))
        return {
            "metadata": {
                "name": f"{owner['name']}-{number:06}",
                "namespace": f"team-{workload % NAMESPACES:02}",
                "uid": f"pod-{number}",
                "labels": {"pod-template-hash": "5d4f8c7b9d"},
                "ownerReferences": [owner],
            },
            "spec": {
                "priority": workload % 3 * 1000,
                "nodeName": None if waits else self._draw.choice(self._nodes),
                "containers": [{"name": "main", "resources": {"requests": requests}}],
            },
            "status": {"phase": "Pending", "conditions": [condition] if waits else []},
        }


def _group(name: str, version: str, **kinds: str) -> dict[str, Any]:
    resources = [
        {
            "resource": plural,
            "responseKind": {"kind": kind},
            "scope": "Namespaced" if kind == "Pod" else "Cluster",
            "verbs": ["list", "watch"],
        }
        for plural, kind in kinds.items()
    ]
    return {"metadata": {"name": name}, "versions": [{"version": version, "resources": resources}]}


class Handler(BaseHTTPRequestHandler):
    """Answers lists and watches of one cluster."""

    cluster: MadeCluster
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a request."""
        parts = urlsplit(self.path)
        query, plural = dict(parse_qsl(parts.query)), parts.path.rpartition("/")[2]
        if self.cluster.away:
            self.close_connection = True
        elif parts.path in {"/api", "/apis"}:
            self._answer({"items": self.cluster.groups(parts.path)})
        elif "watch" in query:
            self._watch(plural)
        else:
            items, begin = self.cluster.items(plural), int(query.get("continue", 0))
            end = begin + int(query.get("limit", len(items)))
            more = {"continue": str(end)} if end < len(items) else {}
            self._answer({"metadata": {"resourceVersion": "1", **more}, "items": items[begin:end]})

    def _answer(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _watch(self, plural: str) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if plural != "pods":
            threading.Event().wait()
        # The page's server ends first.
        with suppress(OSError):
            for event in self.cluster.events():
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextmanager
def watched(cluster: MadeCluster) -> Iterator[LiveWatch]:
    """Serve a cluster for the block, and yield a watch of it."""
    handler: type[Handler] = type("Made", (Handler,), {"cluster": cluster})
    with served_api(handler) as api:
        watch = LiveWatch(api)
        watch.begin()
        try:
            yield watch
        finally:
            watch.stop()


@contextmanager
def page_of(nodes: int, pods: int) -> Iterator[str]:
    """Watch a made cluster for the block, and yield the address of its page."""
    with watched(MadeCluster(nodes, pods)) as watch, serving(LiveServer(watch, "made")) as address:
        yield address
