"""Pods at their times and in their order: arrivals, and what a trace has recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import NS_PER_S, ReceiptClock
from stowage_testbed.scenario.arrivals.recorded import RecordedReplay, Request
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.steps.pacing import Due, Pacer, Pacing, note_lateness, pace
from stowage_testbed.scenario.steps.replaying import Replay


class TooLateError(StowageError):
    """What the pacer must raise."""


class FakeCluster:
    """A clock that only moves when somebody waits or works.

    Every pause ends ``oversleep_s`` too late, and every act takes ``work_s``.
    """

    def __init__(self, oversleep_s: float = 0.0, work_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.done_s: dict[str, float] = {}
        self._oversleep_s = oversleep_s
        self._work_s = work_s

    def run(self, times_s: list[float], allowed_s: float = 60.0) -> Pacing:
        clock = ReceiptClock(lambda: round(self.now_s * NS_PER_S), lambda: 0)
        pacer = Pacer(
            clock, allowed_s, lambda name, late_s: TooLateError(f"{name} {late_s:.1f}"), writers=1, pause=self._pause
        )
        dues = [Due(at_s, f"p{n}", self._act(f"p{n}")) for n, at_s in enumerate(times_s)]
        return pacer.run(dues)

    def _pause(self, seconds: float) -> None:
        self.now_s += seconds + self._oversleep_s

    def _act(self, name: str) -> Callable[[], None]:
        def act() -> None:
            self.done_s[name] = round(self.now_s - 100.0, 6)
            self.now_s += self._work_s

        return act


def test_each_pod_comes_at_its_time_or_at_once_and_is_counted() -> None:
    """A hundred pods, each 1 ms late, must not add up to a tenth of a second."""
    grid, late = [n / 100 for n in range(100)], [0, 0.1, 0.2, 0.3]
    overslept = [0, *(at_s + 0.001 for at_s in grid[1:])]
    for cluster, times_s, done_s, pacing in (
        (FakeCluster(), [0, 0.5, 0.5, 2], [0, 0.5, 0.5, 2], Pacing(4, 0, 0.0)),
        (FakeCluster(oversleep_s=0.001), grid, overslept, Pacing(100, 0, 0.001)),
        # The time that a request takes is taken from the pause.
        (FakeCluster(work_s=0.005), grid, grid, Pacing(100, 0, 0.0)),
        # A rate that the API server cannot keep up with must not go unnoticed.
        (FakeCluster(work_s=0.1), [0, 0.01, 0.02, 0.03], late, Pacing(4, 3, 0.27)),
    ):
        found = cluster.run(times_s)

        assert list(cluster.done_s.values()) == pytest.approx(done_s, abs=1e-5)
        assert (found.done, found.late) == (pacing.done, pacing.late)
        assert found.latest_s == pytest.approx(pacing.latest_s, abs=1e-5)


def a_context(said: list[str], allowed_s: float = 1.0) -> StepContext:
    context: Any = SimpleNamespace(
        facts={}, report=said.append, observer=SimpleNamespace(clock=ReceiptClock()), timeout_s=lambda: allowed_s
    )
    return cast("StepContext", context)


def test_what_is_too_late_ends_the_step_with_a_way_out() -> None:
    """Arrivals that nobody keeps up with measure the API server."""
    done: list[str] = []
    dues = [Due(at_s, "web", partial(done.append, "web")) for at_s in (-1.0, -5.0)]

    with pytest.raises(StowageError, match=r"web was .* s late.* lower the rate"):
        pace(a_context([], allowed_s=3.0), dues)

    assert len(done) < 2


def test_the_first_refusal_is_raised_and_ends_it() -> None:
    """What the API server refuses once it would refuse a thousand times."""
    server = Server(refusals={"create 0": 422})
    dues = [Due(0.0, "p", partial(server.create, manifest(str(number)))) for number in range(100)]
    with pytest.raises(ApiRefusedError):
        pace(a_context([]), dues)

    assert len(server.asked) < 100


def test_lateness_is_noted_and_told_if_there_was_any() -> None:
    """Who compares two runs has to know it."""
    for late, words in ((0, 0), (3, 1)):
        said: list[str] = []
        context = a_context(said)
        note_lateness(context, Pacing(done=9, late=late, latest_s=0.25))

        assert context.facts == {"late": late, "latest_s": 0.25}
        assert len(said) == words


WIDE = frozenset({"Node", "PersistentVolume"})


@dataclass
class Server:
    """Takes requests, and refuses those that a test names."""

    asked: list[str] = field(default_factory=list)
    made: list[dict[str, Any]] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)
    slow: frozenset[str] = frozenset()

    @property
    def kinds(self) -> Server:
        return self

    def of(self, manifest: dict[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(namespaced=manifest["kind"] not in WIDE)

    def create(self, manifest: dict[str, Any]) -> None:
        self.made.append(manifest)
        self._take(f"create {manifest['metadata']['name']}")

    def patch(self, _kind: str, name: str, _change: Any, **_: str) -> None:
        self._take(f"patch {name}")

    def delete(self, kind: str, name: str, **how: Any) -> None:
        lease = f"the lease of {name} in {how['namespace']}"
        what = lease if kind == "Lease" else name
        self._take(f"delete {what}{' at once' if how.get('at_once') else ''}")

    def _take(self, what: str) -> None:
        if what in self.slow:
            threading.Event().wait(0.05)
        self.asked.append(what)
        if what in self.refusals:
            raise ApiRefusedError(what, self.refusals[what], "no")


def manifest(name: str, kind: str = "Pod", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def replay(server: Server, *requests: Request, said: list[str] | None = None, **first: Any) -> StepContext:
    context: Any = a_context([] if said is None else said, allowed_s=10.0)
    context.objects, context.create, context.namespace = server, server.create, "run"
    Replay("trace.jsonl", recorded=RecordedReplay(requests, pods=3, **first)).carry_out(context)
    return cast("StepContext", context)


def test_what_was_there_is_made_in_order_before_anything_happens() -> None:
    """Objects before pods; all of it in the run's namespace that is in any."""
    server = Server()
    volume = manifest("v", "PersistentVolume", claimRef={"name": "c"})
    request = Request(0, "create", "Node", "n", manifest("n", "Node"))
    replay(server, request, first_objects=(volume,), first_pods=(manifest("p"),))

    # Pods on a node with another's lease would not be played for most of a minute.
    lease = "delete the lease of n in kube-node-lease"
    assert server.asked == ["create v", "create p", lease, "create n"]
    namespaces = [one["metadata"].get("namespace") for one in server.made]
    assert namespaces == [None, "run", None]
    assert server.made[0]["spec"]["claimRef"] == {"name": "c", "namespace": "run"}


def test_what_is_done_to_one_object_keeps_its_order() -> None:
    """Several requests are on their way at a time."""
    server = Server(slow=frozenset({"create p"}))
    replay(
        server,
        Request(0, "create", "Pod", "p", manifest("p")),
        Request(0, "create", "Pod", "q", manifest("q")),
        Request(0, "patch", "v1/Pod", "p"),
        Request(0, "delete", "Pod", "p"),
    )

    assert server.asked[0] == "create q"
    assert server.asked[1:] == ["create p", "patch p", "delete p at once"]


def test_what_a_quota_refuses_is_counted_and_anything_else_ends_the_replay() -> None:
    """It may be full under another scheduler; so may be gone what was changed."""
    pod = Request(0, "create", "Pod", "p", manifest("p"))
    change = Request(0, "patch", "apps/v1/Deployment", "q")
    server = Server(refusals={"create p": 403, "patch q": 404})
    said: list[str] = []
    context = replay(server, pod, change, said=said)

    assert context.facts["refused"] == 2
    assert any("2 requests of the trace were refused" in one for one in said)
    with pytest.raises(ApiRefusedError):
        replay(Server(refusals={"create p": 422}), pod)
