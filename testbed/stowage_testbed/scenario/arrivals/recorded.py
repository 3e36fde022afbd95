"""What replays a recorded trace, as values: what is there first, and what is done when.

What controllers made is left to controllers: only pods without a recorded one are made
one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from stowage_testbed.api.client import Manifest

Do = Literal["create", "patch", "delete"]


@dataclass(frozen=True, slots=True)
class Deed:
    """One request of a replay.

    Attributes
    ----------
    at_s
        Seconds after the replay's start.
    kind, name
        Of what it is about, in the run's namespace if the kind has them.
    body
        The manifest, or the change.
    """

    at_s: float
    do: Do
    kind: str
    name: str
    body: Manifest = field(default_factory=dict)
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class FirstState:
    """What was there when recording began.

    Attributes
    ----------
    placed
        The nodes that pods had, by workload, those of daemons left out; empty for a
        pod without one.
    """

    nodes: tuple[Manifest, ...] = ()
    objects: tuple[Manifest, ...] = ()
    pods: tuple[Manifest, ...] = ()
    placed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedReplay:
    """All that a replay does.

    Attributes
    ----------
    deeds
        In the order of their times, after the first state is there.
    pods
        How many pods came, those of controllers too.
    left
        How many are there at the end, by workload, those that are done too.
    wide
        What it makes that is in no namespace, by kind and name, nodes left out.
    """

    first: FirstState
    deeds: tuple[Deed, ...]
    pods: int
    left: Mapping[str, int]
    wide: tuple[tuple[str, str], ...]
    remark: str = ""

    @property
    def last_s(self) -> float:
        """When the last thing happens, in seconds after the start."""
        return self.deeds[-1].at_s if self.deeds else 0.0

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes that there are at some time, by name."""
        made = [one.name for one in self.deeds if (one.do, one.kind) == ("create", "Node")]
        first = [str(one["metadata"]["name"]) for one in self.first.nodes]
        return tuple(dict.fromkeys([*first, *made]))

    @property
    def controllers(self) -> frozenset[str]:
        """The kinds of what brings pods, or keeps them from going."""
        made = [one.body for one in self.deeds if one.do == "create"]
        return frozenset(
            str(one["kind"]) for one in (*self.first.objects, *made) if "template" in (one.get("spec") or {})
        )

    def in_words(self) -> str:
        """Return what is done, without the name of the file."""
        first = self.first
        there = len(first.nodes), len(first.objects), len(first.pods)
        text = "have {} nodes, {} objects and {} bare pods there".format(*there)
        changes = len(self.deeds)
        return (
            f"{text}, then do {changes} things when they happened, the last after "
            f"{self.last_s:g} s; {self.pods} pods came in all"
        )

    def without_nodes(self) -> RecordedReplay:
        """Return the same on nodes that are somebody else's."""
        return replace(
            self, first=replace(self.first, nodes=()), deeds=tuple(one for one in self.deeds if one.kind != "Node")
        )
