"""Reading a trace line by line, whole or cut off; every broken line is named."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import spell_lifetime
from stowage_testbed.base.errors import InputError
from stowage_testbed.trace.format import (
    KINDS,
    VERSION,
    Header,
    Line,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Template,
    check_is_trace,
)

_CHUNK = 2**18
_ANY_GZIP = 16 + zlib.MAX_WBITS
_MOST_ISSUES = 20  # Issues that one message names


class _Kind(msgspec.Struct):
    do: str = ""


@dataclass(frozen=True, slots=True)
class LineIssue:
    """One issue of a trace; lines count from 1."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole trace in memory; `remark` says why it ends early, if it does."""

    header: Header
    lines: tuple[Line, ...]
    remark: str = ""


class TraceReader:
    """Reads a trace as a stream of its good lines, once; ``issues`` has the broken ones, ``remark`` why it ends early.

    Raises an InputError if there is no such file, or it is no trace of this version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.issues: list[LineIssue] = []
        self.remark = ""
        self._number = 0
        self._raw = self._read_raw()
        self.header = self._read_header()

    def __iter__(self) -> Iterator[Line]:
        decoder, latest, known = msgspec.json.Decoder(Line), 0.0, set[str]()
        for raw in self._raw:
            try:
                line = decoder.decode(raw)
            except msgspec.MsgspecError as error:
                self._note(_explain(raw, error))
                continue
            if line.t < latest:
                self._note(f"its time {line.t:g} is before {latest:g}, the one before")
            latest = max(latest, line.t)
            if isinstance(line, Template):
                known.add(line.id)
            elif isinstance(line, PodCame) and line.of not in known:
                self._note(f"no template {line.of!r} stands before it")
            yield line

    def check(self) -> None:
        """Raise an InputError that names the lines which were found broken so far, if any."""
        if not self.issues:
            return
        shown = "\n".join(f"  {one}" for one in self.issues[:_MOST_ISSUES])
        more = len(self.issues) - _MOST_ISSUES
        rest = f"\n  and {more} more" if more > 0 else ""
        raise InputError(
            f"{len(self.issues)} lines of the trace are broken; `stowage record "
            f"--schema` prints what they should be like:\n{shown}{rest}"
        )

    def _note(self, message: str) -> None:
        self.issues.append(LineIssue(self.path, self._number, message))

    def _read_header(self) -> Header:
        first = next(self._raw, b"")
        try:
            header = msgspec.json.decode(first, type=Header)
        except msgspec.MsgspecError as error:
            raise InputError(
                f"{self.path} is no trace: its first line is no header ({error}); `stowage record` writes traces"
            ) from error
        if header.stowage_trace != VERSION:
            raise InputError(
                f"{self.path} is a trace of version {header.stowage_trace}, and this "
                f"Stowage reads version {VERSION}; record it anew"
            )
        return header

    def _read_raw(self) -> Iterator[bytes]:
        pending = b""
        for chunk in self._read_chunks():
            *whole, pending = (pending + chunk).split(b"\n")
            for line in whole:
                self._number += 1
                if line.strip():
                    yield line
        if pending.strip() and not self.remark:
            self.remark = "its last line is cut off"

    def _read_chunks(self) -> Iterator[bytes]:
        try:
            check_is_trace(self.path.name)
            with self.path.open("rb") as file:
                chunks = iter(lambda: file.read(_CHUNK), b"")
                packed = self.path.suffix == ".gz"
                yield from self._unpack(chunks) if packed else chunks
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror}") from error

    def _unpack(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield all that can be unpacked, which the library's own reader does not."""
        unpacker = zlib.decompressobj(_ANY_GZIP)
        for chunk in chunks:
            before = unpacker.copy()
            try:
                yield unpacker.decompress(chunk)
            except zlib.error as error:
                self.remark = f"the rest is damaged ({error})"
                with suppress(zlib.error):
                    for byte in chunk:
                        yield before.decompress(bytes((byte,)))
                return
        if not unpacker.eof:
            self.remark = "it was cut off: whoever recorded it was killed"


def read_trace(path: Path) -> Trace:
    """Return a whole trace, or raise an InputError that names what is wrong with it, and all broken lines."""
    reader = TraceReader(path)
    lines = tuple(reader)
    reader.check()
    return Trace(reader.header, lines, reader.remark)


def _explain(raw: bytes, error: msgspec.MsgspecError) -> str:
    try:
        kind = msgspec.json.decode(raw, type=_Kind).do
    except msgspec.MsgspecError:
        return f"this is no JSON object ({error})"
    if kind not in KINDS:
        return f"`do` is {kind!r}; there are {', '.join(KINDS)}"
    return f"{kind}: {error}"


GONE = frozenset({"deleted", "evicted"})  # Ends that somebody other than the scheduler brought about, and does again
_DONE = frozenset({"succeeded", "failed"})
_MADE_BY_ADMISSION = ("priority", "preemptionPolicy", "schedulerName")


@dataclass(slots=True)
class Life:
    """A pod from its coming to its end, as far as it was recorded."""

    came: PodCame
    node: str = ""
    bound: float | None = None
    end: PodEnded | None = None

    @property
    def is_done(self) -> bool:
        """Whether it ended by itself."""
        return self.end is not None and self.end.how in _DONE

    @property
    def stays(self) -> bool:
        """Whether it is there at the end, be it done."""
        return self.end is None or self.is_done

    @property
    def runs_s(self) -> float | None:
        """How long it runs in the replay; ``None`` if it does not end by itself."""
        if not self.is_done or self.end is None:
            return None
        if self.came.t == 0 and self.bound == 0:
            # It ran before recording began.
            return self.end.t
        return self.end.ran_s or 0.0


def pair_lives(lines: Iterable[Line]) -> dict[int, Life]:
    """Return the life of each pod, by the identity of the line with which it came."""
    lives: dict[int, Life] = {}
    now: dict[tuple[str, str], Life] = {}
    for line in lines:
        if isinstance(line, PodCame):
            lives[id(line)] = now[line.namespace, line.name] = Life(line)
        elif isinstance(line, PodBound | PodEnded):
            life = now.get((line.namespace, line.name))
            if life is not None and isinstance(line, PodBound):
                life.node, life.bound = line.node, line.t
            elif life is not None and isinstance(line, PodEnded):
                life.end = line
    return lives


def make_pod(name: str, template: PodTemplate, life: Life, speed: float) -> Manifest:
    """Return a pod to create: it ends after as long as it ran, divided by ``speed``."""
    spec = {key: value for key, value in template.spec.items() if key not in _MADE_BY_ADMISSION}
    if life.node:
        # Who opened the gates is not recorded.
        spec.pop("schedulingGates", None)
    metadata = {"name": name, "labels": dict(template.labels), "annotations": dict(template.annotations)}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    runs_s = life.runs_s
    return pod if runs_s is None else spell_lifetime(pod, runs_s / speed)
