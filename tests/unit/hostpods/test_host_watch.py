"""Watching the pods of the node, from a scripted server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.hostpods.api import ApiServer
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.watch import PodWatch

Event = tuple[str, Manifest]


class ScriptOverError(Exception):
    """Ends the watch, which would otherwise go on for ever."""


def a_pod(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


class Script(ApiServer):
    """Answers listings and watches in order, and notes what was asked."""

    def __init__(self, *answers: list[Event] | Exception | Manifest) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def _next(self) -> Any:
        if not self._answers:
            raise ScriptOverError
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def list(self, path: str, query: Mapping[str, str]) -> Manifest:
        """Answer a listing."""
        self.asked.append(f"list {query['fieldSelector']}")
        answer: Manifest = self._next()
        return answer

    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[Manifest]:
        """Answer a watch."""
        self.asked.append(f"watch {query['resourceVersion']}")
        for kind, thing in self._next():
            yield {"type": kind, "object": thing}


class NoPause:
    """Time that stands still."""

    def now(self) -> float:
        """Return the same moment."""
        return 0.0

    def pause(self, seconds: float) -> None:
        """Return at once."""


def watch(script: Script) -> list[tuple[str, Any]]:
    """Run the script to its end; return what the kubelet would have received."""
    heard: list[tuple[str, Any]] = []
    pods = PodWatch(
        script,
        "host",
        lambda pods: heard.append(("LIST", [p["metadata"]["name"] for p in pods])),
        lambda kind, pod: heard.append((kind, pod["metadata"]["name"])),
    )
    with pytest.raises(ScriptOverError):
        pods.run(NoPause())
    return heard


def listing(version: int, *names: str) -> Manifest:
    return {
        "metadata": {"resourceVersion": str(version)},
        "items": [a_pod(name, version) for name in names],
    }


def test_a_watch_goes_on_where_the_last_one_ended() -> None:
    """Bookmarks count too: they keep a quiet watch from falling behind."""
    script = Script(
        listing(5, "a"),
        [("ADDED", a_pod("b", 6)), ("BOOKMARK", a_pod("", 9))],
        [("DELETED", a_pod("a", 11))],
    )

    heard = watch(script)

    assert heard == [("LIST", ["a"]), ("ADDED", "b"), ("DELETED", "a")]
    assert script.asked == [
        "list spec.nodeName=host",
        "watch 5",
        "watch 9",
        "watch 11",
    ]


def test_a_forgotten_place_is_listed_again() -> None:
    """410 Gone: what happened in between shows only in a listing."""
    gone = {"code": 410, "message": "too old resource version"}
    script = Script(listing(5, "a"), [("ERROR", gone)], listing(50, "b"))

    assert watch(script) == [("LIST", ["a"]), ("LIST", ["b"])]
    assert script.asked[-1] == "watch 50"


def test_a_server_that_is_away_is_asked_again() -> None:
    """The API server may be restarted by a fault test."""
    away = ApiUnreachableError("GET /api/v1/pods", "refused")
    script = Script(away, listing(5), away, listing(7, "c"))

    assert watch(script) == [("LIST", []), ("LIST", ["c"])]
