"""The scheduler in virtual time: events in, and what became of each pod out."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import Remark, UnknownField
from stowage_testbed.toolchain import choose_minor, tool_path

Event = Mapping[str, Any]
"""A line as ``stowage-simulate --virtual-time`` reads it: its time ``at`` and what
happens then."""


class Life(msgspec.Struct, frozen=True):
    """What became of a pod; times are seconds from the beginning.

    Attributes
    ----------
    pod
        ``namespace/name``; a name may come again when the one before has ended.
    of
        The id of its template.
    bound_s
        None if it never had a node.
    ended_s
        None if it is there at the end.
    how
        How it ended: as the events say, or ``preempted`` by this scheduler, or
        ``node gone``.
    reason
        What kept it, in the scheduler's words, if it has no node.
    replaces
        The recorded pod that it is the replacement of.
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


class _Remark(msgspec.Struct):
    object: str
    reason: str


class _UnknownField(msgspec.Struct):
    field: str
    objects: int


class Evictions(msgspec.Struct, frozen=True, rename="camel"):
    """How many evictions were asked for, by whomever.

    Attributes
    ----------
    within_cool_down
        Of a pod that replaced one which was evicted less than the cool-down before.
    budgets_broken
        Disruption budgets that one left with fewer ready pods than they ask for.
    """

    evicted: int = 0
    refused: int = 0
    within_cool_down: int = 0
    budgets_broken: int = 0


class _Passed(msgspec.Struct, rename="camel"):
    until: float = 0.0
    events: int = 0
    attempts: int = 0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    left_out: list[_Remark] = []
    unknown_fields: list[_UnknownField] = []
    evictions: Evictions = Evictions()
    error: str = ""


class _Line(msgspec.Struct):
    passed: _Passed | None = None


@dataclass(frozen=True, slots=True)
class PassedTime:
    """What became of all pods.

    Attributes
    ----------
    lives
        In the order in which they ended; then those that are there at the end, by name.
    until_s
        Time of the last event.
    events, attempts
        What happened, ends of pods included, and how often a pod was tried.
    cpu_s, peak_memory_bytes
        Of the process, which is the scheduler and what stands for the API server.
    left_out, unknown_fields
        Of what came, what was not taken as it was written.
    """

    lives: tuple[Life, ...]
    until_s: float
    events: int
    attempts: int
    cpu_s: float
    peak_memory_bytes: int
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()
    evictions: Evictions = field(default_factory=Evictions)


def pass_time(events: Iterable[Event], config: Path, *, minor: str | None = None) -> PassedTime:
    """Have the events happen to one cluster, one after the other.

    Parameters
    ----------
    events
        In the order of their times.
    config
        A KubeSchedulerConfiguration, such as `find_profile` returns.
    minor
        Of Kubernetes, that the scheduler is of; the default one without.

    Raises
    ------
    ToolMissingError
        ``stowage-simulate`` is not installed.
    StowageError
        The configuration or an event is broken, or the process died.
    """
    binary = tool_path("stowage-simulate", choose_minor(minor))
    # Files, not pipes: neither side waits for the other.
    with tempfile.TemporaryFile("w+b") as asked, tempfile.TemporaryFile("w+", encoding="utf-8") as messages:
        encoder = msgspec.json.Encoder()
        asked.writelines(encoder.encode(event) + b"\n" for event in events)
        asked.seek(0)
        with subprocess.Popen(
            [str(binary), "--config", str(config), "--virtual-time"],
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=messages,
        ) as process:
            assert process.stdout  # noqa: S101 - it is a pipe
            try:
                lines = [*process.stdout]
            except BaseException:
                process.kill()
                raise
        messages.seek(0)
        said = messages.read().strip() or f"exit code {process.returncode}"
    return read_passed(lines, config, said)


def read_passed(lines: Sequence[bytes], config: Path, said: str) -> PassedTime:
    """Return what the lines of an answer say; the last one is of the whole.

    Parameters
    ----------
    said
        What the process said on standard error.

    Raises
    ------
    StowageError
        The answer is not whole.
    """
    *of_lives, last = lines or (b"{}",)
    passed = msgspec.json.decode(last, type=_Line).passed
    if passed is None or passed.error:
        raise StowageError(
            f"stowage-simulate --virtual-time --config {config} did not come to "
            f"the end: {passed.error if passed else said}"
        )
    decoder = msgspec.json.Decoder(Life)
    return PassedTime(
        lives=tuple(decoder.decode(line) for line in of_lives),
        until_s=passed.until,
        events=passed.events,
        attempts=passed.attempts,
        cpu_s=passed.cpu_seconds,
        peak_memory_bytes=passed.peak_memory_bytes,
        left_out=tuple(Remark(one.object, one.reason) for one in passed.left_out),
        unknown_fields=tuple(UnknownField(one.field, one.objects) for one in passed.unknown_fields),
        evictions=passed.evictions,
    )
