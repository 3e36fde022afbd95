"""The scheduler in virtual time: events in, and what became of each pod out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import Remark, UnknownField
from stowage_testbed.simulate.line_process import LineProcess
from stowage_testbed.toolchain import choose_minor, tool_path

Event = Mapping[str, Any]
"""A line as ``stowage-simulate --virtual-time`` reads it: its time ``at`` and what happens then."""

_ANSWERS = (b'{"eviction":', b'{"state":')
"""How the lines begin that somebody waits for."""

_REMARKS = (b'{"plan":', b'{"window":', b'{"policy":', b'{"nodeGone":')
"""How the lines of policies begin. All other lines but the last are lives."""


class Life(Struct, frozen=True):
    """What became of a pod, ``namespace/name`` of template ``of``; times are seconds from the beginning.

    ``how`` it ended is as the events say, ``preempted``, or ``node gone``; ``reason`` is what kept it without a node;
    ``replaces`` is the recorded pod that it replaces.
    """

    pod: str
    of: str
    arrived_s: float = msgspec.field(name="arrived")
    bound_s: float | None = msgspec.field(name="bound", default=None)
    node: str = ""
    ended_s: float | None = msgspec.field(name="ended", default=None)
    how: str = ""
    reason: str = ""
    replaces: str = ""


class Evictions(Struct, frozen=True, rename="camel"):
    """Evictions that anybody asked for; ``within_cool_down`` are of replacements, again within the cool-down."""

    evicted: int = 0
    refused: int = 0
    within_cool_down: int = 0
    budgets_broken: int = 0


class PassedTime(Struct, frozen=True, rename="camel"):
    """What became of all pods, in the order in which they ended, then those at the end by name.

    ``until_s`` is the time of the last event, ``attempts`` how often a pod was tried.
    """

    lives: tuple[Life, ...] = ()
    until_s: float = msgspec.field(name="until", default=0.0)
    events: int = 0
    attempts: int = 0
    cpu_s: float = msgspec.field(name="cpuSeconds", default=0.0)
    peak_memory_bytes: int = 0
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()
    evictions: Evictions = Evictions()
    error: str = ""


class _LastLine(Struct):
    passed: PassedTime | None = None


class World(LineProcess):
    """A cluster in virtual time that somebody acts on, for as long as the ``with`` block lasts."""

    def __init__(self, config: Path, *, minor: str | None = None) -> None:
        binary = tool_path("stowage-simulate", choose_minor(minor))
        super().__init__((binary, "--virtual-time", "--config", config))
        self._encoder = msgspec.json.Encoder()
        self._told: list[bytes] = []

    def happen(self, event: Event) -> None:
        """Have an event happen; times never go back. What is wrong with it, the next answer reports."""
        self.write(self._encoder.encode(event))

    def tell_state(self, at_s: float) -> dict[str, Any]:
        """Return ``nodes``, ``pods`` and ``disruptionBudgets``; a `StowageError` if an event was broken."""
        state: dict[str, Any] = self._find({"at": at_s, "state": True})["state"]
        return state

    def evict(self, at_s: float, pod: str) -> str:
        """Evict a pod, ``namespace/name``, or return why that is refused; raises as `tell_state` does."""
        return str(self._find({"at": at_s, "evict": pod})["eviction"].get("refused", ""))

    def end(self) -> PassedTime:
        """Return what became of all pods; nothing can happen any more. Raises as `tell_state` does."""
        self.close_input()
        self._told.extend(iter(self.read, b""))
        *told, last = self._told or [b"{}"]
        passed = msgspec.json.decode(last, type=_LastLine).passed
        if passed is None or passed.error:
            raise StowageError(f"{self.name} did not come to the end: {passed.error if passed else self.last_words()}")
        decoder = msgspec.json.Decoder(Life)
        lives = (decoder.decode(line) for line in told if not line.startswith(_REMARKS))
        return msgspec.structs.replace(passed, lives=tuple(lives))

    def remarks(self, of: str) -> list[dict[str, Any]]:
        """Return what was said of each ``plan``, ``window`` or ``policy`` until now."""
        said = (msgspec.json.decode(line) for line in self._told if line.startswith(_REMARKS))
        return [one[of] for one in said if of in one]

    def _find(self, event: Event) -> dict[str, Any]:
        self.happen(event)
        for line in iter(self.read, b""):
            if line.startswith(_ANSWERS):
                answer: dict[str, Any] = msgspec.json.decode(line)
                return answer
            self._told.append(line)
        self.end()
        raise StowageError(f"{self.name} ended before its events: {self.last_words()}")


def pass_time(events: Iterable[Event], config: Path, *, minor: str | None = None) -> PassedTime:
    """Have events happen to one cluster, in the order of their times; parameters and errors as of `World`."""
    with World(config, minor=minor) as world:
        for event in events:
            world.happen(event)
        return world.end()
