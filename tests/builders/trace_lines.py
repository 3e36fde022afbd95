"""Lines of recorded traces in a few words: of namespace `ns`, pod `p`, object `web`."""

from typing import Any

from stowage_testbed.observe.node import Node
from stowage_testbed.trace import format as trace

HEADER = trace.Header(1, "2026-11-26T15:00:00Z", "1.37.2", {"ns": {"team": "a"}})
NODE = Node({"cpu": "4"}, {"cpu": "3"}, {"zone": "a"})


def node(t: float, name: str = "n1", what: Node = NODE) -> trace.NodeSeen:
    return trace.NodeSeen(t=t, name=name, node=what)


def came(t: float, name: str = "p", owner: trace.Owner | None = None) -> trace.PodCame:
    return trace.PodCame(t=t, namespace="ns", name=name, of="a", owner=owner)


def bound(t: float, name: str = "p") -> trace.PodBound:
    return trace.PodBound(t=t, namespace="ns", name=name, node="n1")


def ended(t: float, how: trace.How, ran_s: float | None = None, name: str = "p") -> trace.PodEnded:
    return trace.PodEnded(t=t, namespace="ns", name=name, how=how, ran_s=ran_s)


def seen(t: float, kind: str, version: str = "v1", name: str = "web", **parts: Any) -> trace.ObjectSeen:
    metadata = {"namespace": "ns", "name": name}
    named = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return trace.ObjectSeen(t=t, object={**named, **parts})


def gone(t: float, kind: str) -> trace.ObjectGone:
    return trace.ObjectGone(t=t, kind=kind, namespace="ns", name="web")
