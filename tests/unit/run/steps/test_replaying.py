"""What a recorded trace asks of the server, and in which order."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.replaying import replay_recorded
from stowage_testbed.scenario.arrivals.recorded import (
    Deed,
    FirstState,
    RecordedReplay,
)

WIDE = frozenset({"Node", "PersistentVolume"})


@dataclass
class Server:
    """Takes requests, and refuses those that a test names."""

    asked: list[str] = field(default_factory=list)
    made: list[dict[str, Any]] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)
    slow: frozenset[str] = frozenset()
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def kinds(self) -> Server:
        return self

    def of(self, manifest: dict[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(namespaced=manifest["kind"] not in WIDE)

    def create(self, manifest: dict[str, Any]) -> None:
        self.made.append(manifest)
        self._take(f"create {manifest['metadata']['name']}")

    def patch(self, kind: str, name: str, change: Any, **where: str) -> None:
        del kind, change, where
        self._take(f"patch {name}")

    def delete(
        self, kind: str, name: str, *, namespace: str, at_once: bool = False
    ) -> None:
        if kind == "Lease":
            self._take(f"delete the lease of {name} in {namespace}")
            return
        self._take(f"delete {name}{' at once' if at_once else ''}")

    def _take(self, what: str) -> None:
        if what in self.slow:
            threading.Event().wait(0.05)
        with self.lock:
            self.asked.append(what)
        if what in self.refusals:
            raise ApiRefusedError(what, self.refusals[what], "no")


class Context:
    """As much of a step's context as a replay needs."""

    def __init__(self, server: Server) -> None:
        self.objects, self.create, self.namespace = server, server.create, "run"
        self.facts: dict[str, float] = {}
        self.said: list[str] = []
        self.recorder = SimpleNamespace(report=self.said.append)
        observer = SimpleNamespace(clock=ReceiptClock())
        self.run = SimpleNamespace(observer=observer)

    def timeout_s(self) -> float:
        return 10.0


def manifest(name: str, kind: str = "Pod", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def replay(server: Server, first: FirstState, *deeds: Deed) -> Context:
    context = Context(server)
    recorded = RecordedReplay(first, deeds, 3, {}, ())
    replay_recorded(cast("StepContext", context), recorded)
    return context


def test_what_was_there_is_made_in_order_before_anything_happens() -> None:
    """Objects before pods; all of it in the run's namespace that is in any."""
    server = Server()
    volume = manifest("v", "PersistentVolume", claimRef={"name": "c"})
    first = FirstState((), (volume,), (manifest("p"),))
    replay(server, first, Deed(0, "create", "Pod", "q", manifest("q")))

    assert server.asked == ["create v", "create p", "create q"]
    assert [one["metadata"].get("namespace") for one in server.made] == [
        None,
        "run",
        "run",
    ]
    assert server.made[0]["spec"]["claimRef"] == {"name": "c", "namespace": "run"}


def test_what_is_done_to_one_object_keeps_its_order() -> None:
    """Several requests are on their way at a time."""
    server = Server(slow=frozenset({"create p"}))
    replay(
        server,
        FirstState(),
        Deed(0, "create", "Pod", "p", manifest("p")),
        Deed(0, "create", "Pod", "q", manifest("q")),
        Deed(0, "patch", "v1/Pod", "p"),
        Deed(0, "delete", "Pod", "p"),
    )

    assert server.asked[0] == "create q"
    assert server.asked[1:] == ["create p", "patch p", "delete p at once"]


def test_a_node_that_comes_has_no_lease_of_one_before_it() -> None:
    """Its pods would not be played for most of a minute."""
    server = Server()
    node = manifest("n", "Node")
    replay(server, FirstState(), Deed(0, "create", "Node", "n", node))

    assert server.asked == ["delete the lease of n in kube-node-lease", "create n"]


def test_what_a_quota_refuses_is_counted() -> None:
    """It may be full under another scheduler; so may be gone what was changed."""
    server = Server(refusals={"create p": 403, "patch q": 404})
    context = replay(
        server,
        FirstState(),
        Deed(0, "create", "Pod", "p", manifest("p")),
        Deed(0, "patch", "apps/v1/Deployment", "q"),
    )

    assert context.facts["refused"] == 2
    assert any("2 requests of the trace were refused" in one for one in context.said)


def test_an_object_that_is_none_ends_the_replay() -> None:
    """Without it nothing would be as it was recorded."""
    server = Server(refusals={"create p": 422})

    with pytest.raises(ApiRefusedError):
        replay(server, FirstState(), Deed(0, "create", "Pod", "p", manifest("p")))
