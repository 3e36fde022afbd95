"""Reading a trace, whole or cut off, with every broken line named; and the lives of its pods."""

import zlib
from collections.abc import Iterable, Sequence
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
    PodDevice,
    PodEnded,
    PodTemplate,
    Template,
    check_is_trace,
)

_CHUNK = 2**18
_ANY_GZIP = 16 + zlib.MAX_WBITS
_MOST_ISSUES = 20  # Issues that one message names


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole trace in memory; `remark` says why it ends early, if it does."""

    header: Header
    lines: tuple[Line, ...]
    remark: str = ""


def read_trace(path: Path) -> Trace:
    """Return a whole trace, or raise an InputError that names what is wrong with it, and all broken lines."""
    trace, issues = scan_trace(path)
    if not issues:
        return trace
    shown = "\n".join(f"  {path}:{number}: {message}" for number, message in issues[:_MOST_ISSUES])
    rest = f"\n  and {len(issues) - _MOST_ISSUES} more" if len(issues) > _MOST_ISSUES else ""
    raise InputError(
        f"{len(issues)} lines of the trace are broken; `stowage record "
        f"--schema` prints what they should be like:\n{shown}{rest}"
    )


def scan_trace(path: Path) -> tuple[Trace, list[tuple[int, str]]]:
    """Return what can be read of a trace, and each issue with the number of its line, from 1.

    Raises an InputError if there is no such file, or it is no trace of this version.
    """
    check_is_trace(path.name)
    try:
        content, remark = path.read_bytes(), ""
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if path.suffix == ".gz":
        content, remark = _unpack(content)
    *whole, rest = content.split(b"\n")
    if rest.strip() and not remark:
        remark = "its last line is cut off"
    numbered = ((number, raw) for number, raw in enumerate(whole, 1) if raw.strip())
    _, first = next(numbered, (1, b""))
    header = _read_header(path, first)
    decoder, latest, known = msgspec.json.Decoder(Line), 0.0, set[str]()
    lines, issues = list[Line](), list[tuple[int, str]]()
    for number, raw in numbered:
        try:
            line = decoder.decode(raw)
        except msgspec.MsgspecError as error:
            issues.append((number, _explain(raw, error)))
            continue
        if line.t < latest:
            issues.append((number, f"its time {line.t:g} is before {latest:g}, the one before"))
        latest = max(latest, line.t)
        if isinstance(line, Template):
            known.add(line.id)
        elif isinstance(line, PodCame) and line.of not in known:
            issues.append((number, f"no template {line.of!r} stands before it"))
        lines.append(line)
    return Trace(header, tuple(lines), remark), issues


def _read_header(path: Path, line: bytes) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} is no trace: its first line is no header ({error}); `stowage record` writes traces"
        ) from error
    if header.stowage_trace != VERSION:
        raise InputError(
            f"{path} is a trace of version {header.stowage_trace}, and this "
            f"Stowage reads version {VERSION}; record it anew"
        )
    return header


def _unpack(packed: bytes) -> tuple[bytes, str]:
    """Return all that can be unpacked, which the library's own reader does not, and why there is no more."""
    unpacker, content = zlib.decompressobj(_ANY_GZIP), bytearray()
    for start in range(0, len(packed), _CHUNK):
        chunk, before = packed[start : start + _CHUNK], unpacker.copy()
        try:
            content += unpacker.decompress(chunk)
        except zlib.error as error:
            with suppress(zlib.error):
                for byte in chunk:
                    content += before.decompress(bytes((byte,)))
            return bytes(content), f"the rest is damaged ({error})"
    return bytes(content), "" if unpacker.eof else "it was cut off: whoever recorded it was killed"


def _explain(raw: bytes, error: msgspec.MsgspecError) -> str:
    try:
        line = msgspec.json.decode(raw, type=dict)
    except msgspec.MsgspecError:
        return f"this is no JSON object ({error})"
    kind = line.get("do", "")
    return f"{kind}: {error}" if kind in tuple(KINDS) else f"`do` is {kind!r}; there are {', '.join(KINDS)}"


GONE = frozenset({"deleted", "evicted"})  # Ends that somebody other than the scheduler brought about, and does again
_DONE = frozenset({"succeeded", "failed"})
_MADE_BY_ADMISSION = ("priority", "preemptionPolicy", "schedulerName")


@dataclass(slots=True)
class Life:
    """A pod from its coming to its end, as far as it was recorded."""

    came: PodCame
    node: str = ""
    devices: Sequence[PodDevice] = ()
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
                life.node, life.bound, life.devices = line.node, line.t, line.devices
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
