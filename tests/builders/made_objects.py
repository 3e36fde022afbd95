"""An API server that only lists and watches nodes and pods that are made up.

Real ones of that size take an hour to fill.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stowage_testbed.base.clock import SystemClock

ZONES = 6
WORKLOADS = 400
NAMESPACES = 20
WAITING = 0.02
"""Share of the pods that have no node."""

SIZES = (("250m", "512Mi"), ("500m", "2Gi"), ("1", "1Gi"), ("2", "8Gi"))
_LISTED = {"nodes": "Node", "pods": "Pod"}


class MadeCluster:
    """Nodes, pods, and pods that come and go.

    Parameters
    ----------
    nodes, pods
        How many.
    events_per_s
        Changes of pods in a second.
    """

    def __init__(self, nodes: int, pods: int, events_per_s: float) -> None:
        self._draw = random.Random(1)  # noqa: S311 - no secret
        self._nodes = nodes
        self._pause_s = 1 / events_per_s
        self._made = 0
        self.version = 1
        self._pods = [self._new_pod() for _ in range(pods)]
        self.items = {"nodes": [_make_node(number) for number in range(nodes)], "pods": list(self._pods)}

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield changes of pods at their rate, for ever."""
        clock = SystemClock()
        due = clock.now()
        while True:
            for event in self._replace_one():
                due += self._pause_s
                clock.pause(max(0.0, due - clock.now()))
                yield event

    def _replace_one(self) -> Iterator[dict[str, Any]]:
        """One pod goes, another comes, and is given a node."""
        at = self._draw.randrange(len(self._pods))
        yield self._event("DELETED", self._pods[at])
        pod = self._new_pod()
        node = pod["spec"].get("nodeName")
        waiting = {**pod, "spec": {**pod["spec"], "nodeName": None}}
        yield self._event("ADDED", waiting)
        if node:
            yield self._event("MODIFIED", pod)
        self._pods[at] = pod

    def _event(self, verb: str, pod: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        metadata = {**pod["metadata"], "resourceVersion": str(self.version)}
        return {"type": verb, "object": {**pod, "metadata": metadata}}

    def _new_pod(self) -> dict[str, Any]:
        self._made += 1
        workload = self._draw.randrange(WORKLOADS)
        cpu, memory = SIZES[workload % len(SIZES)]
        waits = self._draw.random() < WAITING
        name = f"service-{workload:03}-5d4f8c7b9d-{self._made:06}"
        short = self._draw.randrange(1, self._nodes)
        said = (
            f"0/{self._nodes} nodes are available: {short} Insufficient cpu, "
            f"{self._nodes - short} Insufficient memory. preemption: none would help."
        )
        condition = {"type": "PodScheduled", "status": "False", "message": said}
        return {
            "metadata": {
                "name": name,
                "namespace": f"team-{workload % NAMESPACES:02}",
                "uid": f"00000000-0000-0000-0000-{self._made:012}",
                "labels": {"pod-template-hash": "5d4f8c7b9d"},
                "ownerReferences": [
                    {"kind": "ReplicaSet", "name": f"service-{workload:03}-5d4f8c7b9d", "controller": True}
                ],
            },
            "spec": {
                "priority": workload % 3 * 1000,
                "nodeName": (None if waits else f"node-{self._draw.randrange(self._nodes):05}"),
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/service:1.2.3",
                        "env": [{"name": f"E{n}", "value": "v" * 20} for n in range(8)],
                        "resources": {"requests": {"cpu": cpu, "memory": memory}},
                    }
                ],
            },
            "status": {"phase": "Pending", "conditions": [condition] if waits else []},
        }


def _make_node(number: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"node-{number:05}",
            "uid": f"10000000-0000-0000-0000-{number:012}",
            "labels": {"topology.kubernetes.io/zone": f"zone-{number % ZONES}"},
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


class Handler(BaseHTTPRequestHandler):
    """Answers lists and watches of one cluster."""

    cluster: MadeCluster
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a request."""
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        kind = parts.path.rpartition("/")[2]
        if kind not in _LISTED:
            self._answer(_discovery() if parts.path == "/api" else {"items": []})
        elif "watch" in query:
            self._watch(kind)
        else:
            self._list(self.cluster.items[kind], query)

    def _list(self, items: list[dict[str, Any]], query: dict[str, str]) -> None:
        begin = int(query.get("continue", 0))
        end = begin + int(query.get("limit", len(items)))
        metadata = {"resourceVersion": "1"}
        if end < len(items):
            metadata["continue"] = str(end)
        self._answer({"metadata": metadata, "items": items[begin:end]})

    def _answer(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _watch(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if kind != "pods":
            threading.Event().wait()
        # The page's server ends first.
        with suppress(OSError):
            for event in self.cluster.events():
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def _discovery() -> dict[str, Any]:
    resources = [
        {
            "resource": plural,
            "responseKind": {"kind": kind},
            "scope": "Cluster" if kind == "Node" else "Namespaced",
            "verbs": ["list", "watch"],
        }
        for plural, kind in _LISTED.items()
    ]
    version = {"version": "v1", "resources": resources}
    return {"items": [{"metadata": {"name": ""}, "versions": [version]}]}
