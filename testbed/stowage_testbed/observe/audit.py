"""Reading the API server's audit log: the clock of the side that does the work."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO

import msgspec

from stowage_testbed.base.errors import StowageError

NS_PER_US = 1000
FINISHED = b'"stage":"ResponseComplete"'
_LOOKS = 3  # A file that is renamed just now is under neither of its names in one look


class AuditLogMissingError(StowageError):
    """A cluster has no audit log where its work directory should hold one."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One finished request.

    ``name`` is that of the object that was made, where the server chose it. Times are wall time of request and
    answer, from stamps with microseconds. ``uid`` is the UID that an eviction insists on; empty if it takes whoever
    has the name.
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user: str
    code: int
    stage_ns: int
    uid: str = ""
    received_ns: int = 0

    @property
    def key(self) -> str:
        """The object's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def creates(self, resource: str, subresource: str) -> bool:
        """Return whether something of this kind was created with success."""
        return self.verb == "create" and self._succeeded(resource, subresource)

    def writes(self, resource: str, subresource: str) -> bool:
        """Return whether something of this kind was changed with success."""
        return self.verb in {"patch", "update"} and self._succeeded(resource, subresource)

    def _succeeded(self, resource: str, subresource: str) -> bool:
        succeeded = HTTPStatus.OK <= self.code < HTTPStatus.MULTIPLE_CHOICES
        return succeeded and (self.resource, self.subresource) == (resource, subresource)


@dataclass(frozen=True, slots=True)
class AuditMark:
    """A place in a log: a byte of the file ``inode``, whatever that is called by now; 0 is the first one."""

    inode: int = 0
    offset: int = 0


BEGINNING = AuditMark()


def find_audit_end(path: Path) -> AuditMark:
    """Return where the log ends now: where later entries begin."""
    if not path.is_file():
        return BEGINNING
    status = path.stat()
    return AuditMark(status.st_ino, status.st_size)


class AuditReader:
    """Reads a log on, from wherever it was read to.

    A log that has become too long is given another name, and goes on in a new file. The oldest file is removed when
    there are too many. ``start`` is what `find_audit_end` gave earlier: a long run need not read a long log again.
    """

    def __init__(self, path: Path, start: AuditMark = BEGINNING) -> None:
        self._path = path
        self._mark = start

    def entries(self) -> Iterator[AuditEntry]:
        """Yield the finished requests since the last call, as `lines` does."""
        return map(_read_entry, self.lines())

    def lines(self) -> Iterator[bytes]:
        """Yield the finished requests since the last call as they are in the log.

        A last line that is still being written is left for the next call. Raises an AuditLogMissingError if
        there is no such file, and a StowageError if entries are gone that were not read yet.
        """
        if not self._files():
            raise AuditLogMissingError(
                f"there is no audit log at {self._path}; bring the cluster up with `stowage up`, which "
                "switches auditing on"
            )
        renamed = True
        while renamed:
            renamed = False
            for path, inode in self._files():
                try:
                    file = path.open("rb")
                except FileNotFoundError:
                    renamed = True
                    break
                with file:
                    renamed = os.fstat(file.fileno()).st_ino != inode
                    if renamed:
                        break
                    yield from self._lines_of(file, inode)

    def _files(self) -> list[tuple[Path, int]]:
        """Return the files from the one being read on, the oldest first, each with its inode."""
        # Those that were closed are named by the time at which they were.
        closed = f"{self._path.stem}-*{self._path.suffix}"
        for _ in range(_LOOKS):
            files: list[tuple[Path, int]] = []
            for path in (*sorted(self._path.parent.glob(closed)), self._path):
                # One may be renamed, or removed, between the search and this.
                with suppress(FileNotFoundError):
                    files.append((path, path.stat().st_ino))
            inodes = [inode for _, inode in files]
            if self._mark.inode in inodes:
                return files[inodes.index(self._mark.inode) :]
            if not self._mark.inode:
                return files
        raise StowageError(
            f"the audit log {self._path} has lost entries: what was read last has been "
            "removed, as the API server keeps the last files alone; read it more often"
        )

    def _lines_of(self, file: BinaryIO, inode: int) -> Iterator[bytes]:
        offset = self._mark.offset if inode == self._mark.inode else 0
        if 0 < offset <= os.fstat(file.fileno()).st_size:
            # One byte earlier, to find the first whole line also if it begins here.
            file.seek(offset - 1)
            offset += len(file.readline()) - 1
        else:
            offset = 0
        self._mark = AuditMark(inode, offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            self._mark = AuditMark(inode, offset)
            if FINISHED in line:
                yield line


def read_audit_entries(path: Path, start: AuditMark = BEGINNING) -> Iterator[AuditEntry]:
    """Yield the finished requests of an audit log in order, as `AuditReader` does."""
    return AuditReader(path, start).entries()


def read_binding_times_ns(entries: Iterable[AuditEntry]) -> dict[str, int]:
    """Return ``namespace/name`` of each pod bound with success, and when."""
    return {entry.key: entry.stage_ns for entry in entries if entry.creates("pods", "binding")}


class _Target(msgspec.Struct):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Object(msgspec.Struct):
    metadata: _Target = msgspec.field(default_factory=_Target)


class _Record(msgspec.Struct, rename="camel"):
    verb: str
    stage_timestamp: str
    request_received_timestamp: str = ""
    object_ref: _Target | None = None
    user: dict[str, Any] = msgspec.field(default_factory=dict)
    response_status: dict[str, Any] | None = None
    request_object: msgspec.Raw = msgspec.Raw(b"null")
    response_object: _Object | None = None


def _read_entry(line: bytes) -> AuditEntry:
    record = msgspec.json.decode(line, type=_Record)
    target, made = record.object_ref or _Target(), record.response_object
    name = target.name or (made.metadata.name if made else "")
    # A log of a large run has a few of these words, and each name several times.
    return AuditEntry(
        verb=intern(record.verb),
        resource=intern(target.resource),
        subresource=intern(target.subresource),
        namespace=intern(target.namespace),
        name=intern(name),
        user=intern(record.user.get("username", "")),
        code=(record.response_status or {}).get("code", 0),
        stage_ns=_parse_nanoseconds(record.stage_timestamp),
        uid=_read_demanded_uid(record.request_object),
        received_ns=_parse_nanoseconds(record.request_received_timestamp or record.stage_timestamp),
    )


def _read_demanded_uid(request: msgspec.Raw) -> str:
    if b"preconditions" not in bytes(request):
        return ""
    # Whoever may evict may send anything; the server has refused it then.
    with suppress(KeyError, TypeError):
        return intern(msgspec.json.decode(request)["deleteOptions"]["preconditions"]["uid"])
    return ""


def _parse_nanoseconds(stamp: str) -> int:
    moment = datetime.fromisoformat(stamp)
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * NS_PER_US
