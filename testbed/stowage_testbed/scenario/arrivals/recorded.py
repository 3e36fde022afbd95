"""What replays a trace, as values. What controllers made is left to controllers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from stowage_testbed.api.client import Manifest

Verb = Literal["create", "patch", "delete"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a replay, so many seconds after its start; the body is the manifest, or the change."""

    at_s: float
    verb: Verb
    kind: str
    name: str
    body: Manifest = field(default_factory=dict)
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class FirstState:
    """What was there when recording began; ``placed`` are nodes of pods by workload, "" for none, without daemons."""

    nodes: tuple[Manifest, ...] = ()
    objects: tuple[Manifest, ...] = ()
    pods: tuple[Manifest, ...] = ()
    placed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedReplay:
    """All that a replay does; requests are in order of time.

    ``pods`` came, and so many of each workload are ``left`` at the end, done ones too; ``wide`` is in no namespace, by
    kind and name.
    """

    first: FirstState
    requests: tuple[Request, ...]
    pods: int
    left: Mapping[str, int]
    wide: tuple[tuple[str, str], ...]
    remark: str = ""

    @property
    def last_s(self) -> float:
        """When the last thing happens, in seconds after the start."""
        return self.requests[-1].at_s if self.requests else 0.0

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes that there are at some time, by name."""
        made = [one.name for one in self.requests if (one.verb, one.kind) == ("create", "Node")]
        first = [str(one["metadata"]["name"]) for one in self.first.nodes]
        return tuple(dict.fromkeys([*first, *made]))

    @property
    def controllers(self) -> frozenset[str]:
        """The kinds of what brings pods, or keeps them from going."""
        made = [one.body for one in self.requests if one.verb == "create"]
        return frozenset(
            str(one["kind"]) for one in (*self.first.objects, *made) if "template" in (one.get("spec") or {})
        )

    def in_words(self) -> str:
        """Return what is done, without the name of the file."""
        first = self.first
        there = len(first.nodes), len(first.objects), len(first.pods)
        text = "have {} nodes, {} objects and {} bare pods there".format(*there)
        changes = len(self.requests)
        return (
            f"{text}, then do {changes} things when they happened, the last after "
            f"{self.last_s:g} s; {self.pods} pods came in all"
        )

    def without_nodes(self) -> RecordedReplay:
        """Return the same on nodes that are somebody else's."""
        others = tuple(one for one in self.requests if one.kind != "Node")
        return replace(self, first=replace(self.first, nodes=()), requests=others)
